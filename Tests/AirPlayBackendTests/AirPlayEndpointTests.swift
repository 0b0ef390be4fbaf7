import AirPlayBackend
import Pacing
import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@Suite("AirPlay records and URIs as endpoints")
struct AirPlayEndpointTests {
    static let provider = try! AirPlayProvider(clock: ManualClock(), pacer: Pacer())

    static func record(_ type: String, _ name: String, port: Int, _ txt: [String: String]) -> ServiceRecord {
        ServiceRecord(
            key: ServiceRecord.Key(type: type, name: name), hostName: "device.local", addresses: ["192.168.1.9"],
            port: port, txt: txt)
    }

    @Test("A7 The two records of one device share a key, whatever the case of its digits")
    func merge() throws {
        let raop = try #require(
            Self.provider.endpoint(
                from: Self.record(
                    "_raop._tcp", "A1B2C3D4E5F6@Kitchen", port: 7000,
                    ["cn": "0,1", "et": "0,1", "md": "0,1,2", "am": "ShairportSync", "fv": "5.2.1", "sf": "0x4"])))
        let airPlay = try #require(
            Self.provider.endpoint(
                from: Self.record(
                    "_airplay._tcp", "Kitchen", port: 7000,
                    [
                        "deviceid": "a1:b2:c3:D4:E5:F6", "features": "0x405FCA00,0x18340", "flags": "0x4",
                        "pk": String(repeating: "Ab", count: 32),
                    ])))
        #expect(raop.name == "Kitchen")
        #expect(raop.protocol == .raop)
        #expect(raop.strongKeys == [StrongKey(.mac, "a1b2c3d4e5f6")])
        #expect(airPlay.strongKeys.contains(StrongKey(.mac, "a1b2c3d4e5f6")))
        #expect(airPlay.strongKeys.contains(StrongKey(.publicKey, String(repeating: "ab", count: 32))))
        #expect(airPlay.protocol == .airplay2)
        #expect(raop.capabilities.has(.playAudioStream))
        #expect(raop.capabilities.has(.artwork))
        #expect(airPlay.capabilities.has(.playAudioStream))
        #expect(airPlay.capabilities.sync == .tight)
        #expect(raop.id != airPlay.id)
    }

    @Test(
        "A7 What it takes to be let in",
        arguments: [
            (["pw": "true"], RouteAccess.password), (["pw": "false"], .open), (["sf": "0x84"], .password),
            (["sf": "0xc"], .pin), (["sf": "0x204"], .pairingNeeded), ([:], .open), (["sf": "nonsense"], .open),
        ] as [([String: String], RouteAccess)])
    func access(txt: [String: String], expected: RouteAccess) throws {
        let endpoint = try #require(
            Self.provider.endpoint(from: Self.record("_raop._tcp", "000000000001@X", port: 5000, txt)))
        #expect(endpoint.access == expected)
    }

    @Test(
        "A7 AirPlay 2 devices and their flags",
        arguments: [
            (["features": "0x4A7FCA00,0x3C356BD0", "flags": "0x1a40c"], RouteProtocol.airplay2, RouteAccess.pin),
            (["fex": "AMpfQECDAQA", "flags": "0x80"], .airplay2, .password),
            (["features": "0x5A7FFFF7,0xE", "flags": "0x4"], .airplayVideo, .open),
            (["features": "rubbish"], .airplay2, .open),
        ] as [([String: String], RouteProtocol, RouteAccess)])
    func airPlay(txt: [String: String], kind: RouteProtocol, access: RouteAccess) throws {
        let endpoint = try #require(Self.provider.endpoint(from: Self.record("_airplay._tcp", "TV", port: 7000, txt)))
        #expect(endpoint.protocol == kind)
        #expect(endpoint.access == access)
    }

    @Test("A7 A receiver that only takes FairPlay says why it cannot be used")
    func fairPlay() throws {
        let endpoint = try #require(
            Self.provider.endpoint(from: Self.record("_raop._tcp", "000000000001@X", port: 5000, ["et": "3,5"])))
        guard case .unavailable(let reason) = endpoint.capabilities[.playAudioStream] else {
            Issue.record("it seems to be usable")
            return
        }
        #expect(reason.contains("FairPlay"))
    }

    @Test("A7 Records that are none of ours, or have no address")
    func foreign() {
        #expect(Self.provider.endpoint(from: Self.record("_http._tcp", "x", port: 80, [:])) == nil)
        #expect(Self.provider.endpoint(from: Self.record("_raop._tcp", "x", port: 0, [:])) == nil)
    }

    @Test("A7 A device named by a URI")
    func stated() throws {
        let endpoint = try Self.provider.endpoint(from: DeviceURI("raop://speaker.lan?name=Kitchen&et=1&latency=2500"))
        #expect(endpoint.name == "Kitchen")
        #expect(endpoint.port == 5000)
        #expect(endpoint.origin == .stated)
        #expect(endpoint.capabilities.has(.metadataPush))
        let other = try Self.provider.endpoint(from: DeviceURI("airplay://[fe80::1]"))
        #expect(other.port == 7000)
        #expect(other.protocol == .airplay2)
    }

    @Test(
        "A7 A URI that asks for what cannot be",
        arguments: [
            ("raop://x?latency=soon", RouterError.Code.configuration), ("raop://x?latency=10", .configuration),
            ("raop://x?et=3", .unsupported), ("raop://x?cn=3", .unsupported),
        ])
    func impossible(uri: String, code: RouterError.Code) throws {
        do {
            _ = try Self.provider.endpoint(from: DeviceURI(uri))
            Issue.record("it was taken")
        } catch let error as RouterError {
            #expect(error.code == code)
            #expect(error.hint != nil)
        }
    }

    @Test("A7 A record without AirPlay 2 says that there is another service", arguments: ["0x444F8A00", "rubbish"])
    func withoutAirPlay2(features: String) async throws {
        let record = Self.record("_airplay._tcp", "AVR", port: 7000, ["features": features])
        let endpoint = try #require(Self.provider.endpoint(from: record))
        guard case .unavailable(let reason) = endpoint.capabilities[.playAudioStream] else {
            Issue.record("it seems to be usable")
            return
        }
        #expect(reason.contains("AirPlay 1"))
    }

    @Test("A7 Video is refused in words")
    func video() async throws {
        let record = Self.record("_airplay._tcp", "TV", port: 7000, ["features": "0x5A7FFFF7,0xE"])
        let endpoint = try #require(Self.provider.endpoint(from: record))
        let error = await #expect(throws: RouterError.self) {
            _ = try await Self.provider.open(endpoint, options: OpenOptions())
        }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains("AirPlay video is not supported by this version") == true)
    }

    @Test("A7 A closed port and a stranger's service are told apart")
    func unreachable() async throws {
        let closed = try Self.provider.endpoint(from: DeviceURI("raop://127.0.0.1:1"))
        do {
            _ = try await Self.provider.open(closed, options: OpenOptions())
            Issue.record("it was opened")
        } catch let error as RouterError {
            #expect(error.code == .routeUnreachable)
            #expect(error.message.contains("port is closed"))
        }
    }
}
