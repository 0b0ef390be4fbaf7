import CastBackend
import RouteBackend
import RouteModel
import Testing

@Suite struct CastRecordTests {
    private let provider = CastProvider()

    private func record(
        _ txt: [String: String], name: String = "Chromecast-abc", type: String = "_googlecast._tcp",
        addresses: [String] = ["192.0.2.7", "fe80::1"], port: Int = 8009
    ) -> ServiceRecord {
        ServiceRecord(
            key: .init(type: type, name: name), hostName: "device.local", addresses: addresses, port: port, txt: txt,
            interface: "eth0")
    }

    @Test("C1 a video device") func video() throws {
        let endpoint = try #require(
            provider.endpoint(
                from: record([
                    "id": "5F1B8E7C00112233445566778899AABB", "fn": "Wohnzimmer ☕️", "md": "Chromecast Ultra",
                    "ca": "4101", "st": "1", "rs": "YouTube", "ve": "05", "ic": "/setup/icon.png",
                ])))
        #expect(endpoint.name == "Wohnzimmer ☕️")
        #expect(endpoint.host == "192.0.2.7")
        #expect(endpoint.port == 8009)
        #expect(endpoint.protocol == .cast)
        #expect(endpoint.strongKeys == [StrongKey(.castID, "5f1b8e7c00112233445566778899aabb")])
        #expect(endpoint.id.rawValue == "cast:5f1b8e7c00112233445566778899aabb")
        #expect(endpoint.deviceType == .tv)
        #expect(endpoint.busyWith == "YouTube")
        #expect(endpoint.origin == .discovered)
        #expect(endpoint.interface == "eth0")
        #expect(endpoint.capabilities.has(.video))
        #expect(endpoint.capabilities.sync == .loose)
    }

    @Test("K1 K2 K3 K4 what a Cast device can do by itself") func fourQuestions() throws {
        let capabilities = try #require(provider.endpoint(from: record(["ca": "5"]))).capabilities
        #expect(capabilities.has(.continuesWithoutSender))
        #expect(capabilities.has(.acceptsManySenders))
        for no in [RouteCapability.playsSenderOnlyFiles, .observableInBackground] {
            guard case .unavailable(let reason) = capabilities[no] else {
                Issue.record("\(no) should be unavailable, with a reason")
                continue
            }
            #expect(!reason.isEmpty)
        }
        #expect(capabilities[.playAudioStream] == .unsupported)
    }

    @Test(
        "C1 groups, by their bit or their model",
        arguments: [
            ["ca": "2084", "md": "Google Home"], ["md": "Google Cast Group"], ["ca": "x", "md": "google cast group"],
        ])
    func groups(txt: [String: String]) throws {
        let endpoint = try #require(provider.endpoint(from: record(txt, port: 42_000)))
        #expect(endpoint.kind == .group)
        #expect(endpoint.deviceType == .group)
        #expect(endpoint.port == 42_000)
    }

    @Test(
        "device types",
        arguments: [
            ("2052", "Google Home Mini", DeviceType.speaker), ("5", "", .tv), ("199172", "Nest Audio", .speaker),
            ("4101", "Google Nest Hub", .display), ("", "Chromecast Audio", .speaker), ("", "Chromecast", .tv),
            ("", "Toaster", .unknown), ("0", "Toaster", .unknown),
        ])
    func deviceTypes(ca: String, model: String, type: DeviceType) throws {
        #expect(try #require(provider.endpoint(from: record(["ca": ca, "md": model]))).deviceType == type)
    }

    @Test("odd records are taken as far as they go") func oddRecords() throws {
        let bare = try #require(provider.endpoint(from: record([:], addresses: [])))
        #expect(bare.name == "Chromecast-abc")
        #expect(bare.host == "device.local")
        #expect(bare.strongKeys == [])
        #expect(bare.deviceType == .unknown)
        #expect(bare.capabilities[.video] == .unknown)
        #expect(bare.busyWith == nil)
        for (id, key) in [
            ("5f1b8e7c-0011-2233-4455-66778899aabb", "5f1b8e7c00112233445566778899aabb"),
            ("%7B5F1B%7D", "5f1b"), ("A0B1C2D3E4F5", "a0b1c2d3e4f5"), ("", nil), ("ab/cd", nil), ("ü", nil),
        ] {
            let endpoint = try #require(provider.endpoint(from: record(["id": id, "ca": "99999999999999999999"])))
            #expect(endpoint.strongKeys == (key.map { [StrongKey(.castID, $0)] } ?? []))
        }
        #expect(provider.endpoint(from: record(["fn": "  ", "rs": " "]))?.name == "Chromecast-abc")
        // Idle: what it shows is an old text.
        #expect(provider.endpoint(from: record(["st": "0", "rs": "YouTube"]))?.busyWith == nil)
        #expect(provider.endpoint(from: record([:], type: "_airplay._tcp")) == nil)
        #expect(provider.endpoint(from: record([:], port: 0)) == nil)
        #expect(provider.endpoint(from: record([:], type: "_googlecast._tcp.local")) != nil)
    }

    @Test(
        "C1 capability bits: decimal, hexadecimal, and what is no number",
        arguments: [
            ("4101", true), (" 5 ", true), ("0x1005", true), ("0X4", false), ("4", false), ("-1", nil), ("0xzz", nil),
            ("99999999999999999999999", nil), ("5,4", nil), ("", nil),
        ] as [(String, Bool?)])
    func capabilityBits(ca: String, video: Bool?) throws {
        let endpoint = try #require(provider.endpoint(from: record(["ca": ca])))
        #expect(endpoint.kind == .device)
        let expected: CapabilityState = video.map { $0 ? .available : .unsupported } ?? .unknown
        #expect(endpoint.capabilities[.video] == expected)
    }

    @Test(
        "C1 ids however they are written, and those that are none",
        arguments: [
            ("5f1b8e7c%2D0011%2D2233%2D4455%2D66778899AABB", "5f1b8e7c00112233445566778899aabb"),
            ("{5F1B8E7C-0011-2233-4455-66778899AABB}", "5f1b8e7c00112233445566778899aabb"),
            ("A0:B1:C2:D3:E4:F5", "a0b1c2d3e4f5"), ("00000000000000000000000000000000", nil),
            ("00000000-0000-0000-0000-000000000000", nil), ("%", nil), ("\u{FFFD}", nil), ("../x", nil),
        ] as [(String, String?)])
    func ids(id: String, key: String?) throws {
        let endpoint = try #require(provider.endpoint(from: record(["id": id])))
        #expect(endpoint.strongKeys == (key.map { [StrongKey(.castID, $0)] } ?? []))
        #expect(endpoint.id.rawValue == "cast:\(key ?? "Chromecast-abc")")
    }

    @Test("C1 C2 names and states that are odd") func namesAndStates() throws {
        func found(_ txt: [String: String], name: String = "Chromecast-abc") -> Endpoint? {
            provider.endpoint(from: record(txt, name: name))
        }
        // Cut in the middle of a character by a device that counts bytes.
        #expect(found(["fn": "Wohnzimm\u{FFFD}"])?.name == "Wohnzimm")
        #expect(found(["fn": "\u{FFFD}"])?.name == "Chromecast-abc")
        #expect(found([:], name: " ")?.name == "192.0.2.7")
        #expect(found(["FN": "Kitchen", "ID": "ABCD", "Md": "Google Cast Group"])?.kind == .group)
        #expect(found(["FN": "Hall", "fn": "Kitchen"])?.name == "Kitchen")
        #expect(found(["fn": String(repeating: "x", count: 4_000)])?.name.count == 4_000)
        #expect(found(["st": "1", "rs": ""])?.busyWith == "something")
        #expect(found(["st": "1", "rs": "Casting: Blue"])?.busyWith == "Casting: Blue")
        #expect(found(["st": "7"])?.busyWith == nil)
        #expect(found([:])?.busyWith == nil)
        for type in ["_CC1AD845._sub._googlecast._tcp", "_googlecast._udp", "", "googlecast"] {
            #expect(provider.endpoint(from: record([:], type: type)) == nil)
        }
        for port in [-1, 0, 65_536] { #expect(provider.endpoint(from: record([:], port: port)) == nil) }
    }

    @Test("C1 a device that a person names") func stated() throws {
        let endpoint = try provider.endpoint(
            from: DeviceURI("cast://192.0.2.9?name=Kitchen&fn=Other&md=Chromecast&id=ABCD&app=233637DE&colour=red"))
        #expect(endpoint.name == "Kitchen")
        #expect(endpoint.port == 8009)
        #expect(endpoint.origin == .stated)
        #expect(endpoint.strongKeys == [StrongKey(.castID, "abcd"), StrongKey(.statedURI, "cast://192.0.2.9:8009")])
        #expect(endpoint.facts["colour"] == "red")
        #expect(endpoint.facts["app"] == "233637DE")
        let six = try provider.endpoint(from: DeviceURI("cast://[2001:db8::1]:8010?fn=Hall"))
        #expect(six.name == "Hall")
        #expect(six.host == "2001:db8::1")
        #expect(six.address == "[2001:db8::1]:8010")
        #expect(six.strongKeys == [StrongKey(.statedURI, "cast://[2001:db8::1]:8010")])
        #expect(try provider.endpoint(from: DeviceURI("cast://tv.example")).name == "tv.example")
    }

    @Test("C21 an app id that is none is said to be none", arguments: ["", "a/b", "ä"])
    func wrongApp(app: String) throws {
        let uri = try DeviceURI("cast://192.0.2.9?app=\(app)")
        let error = #expect(throws: RouterError.self) { try provider.endpoint(from: uri) }
        #expect(error?.code == .configuration)
    }
}
