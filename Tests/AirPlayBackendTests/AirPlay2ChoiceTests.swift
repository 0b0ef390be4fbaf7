import AirPlay
import Pacing
import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import AirPlayBackend

@Suite("AirPlay 2: what records say, and the ways that are tried")
struct AirPlay2ChoiceTests {
    static let homePod = ["features": "0x4A7FCA00,0x3C356BD0", "flags": "0x1a404"]
    static let appleTV = ["features": "0x5A7FDFD5,0x3C155FDE", "flags": "0x244"]
    static let sonos = ["features": "0x445F8A00,0x1C340", "flags": "0x4"]
    static let marantz = ["features": "0x444F8A00"]
    static let shairport = ["features": "0x405FCA00,0x18340", "flags": "0x4"]

    @Test("A7 Feature bits and flags of real receivers decide how they are let in and timed")
    func facts() {
        let homePod = AirPlay2Facts(txt: Self.homePod)
        #expect(homePod.allowsTransient && homePod.takesPTP && homePod.takesBuffered)
        #expect(homePod.access == .open)
        let appleTV = AirPlay2Facts(txt: Self.appleTV)
        #expect(!appleTV.allowsTransient)
        #expect(appleTV.access == .pairingNeeded)
        #expect(appleTV.pairing == .pin)
        let sonos = AirPlay2Facts(txt: Self.sonos)
        #expect(sonos.allowsTransient && sonos.takesPTP)
        let marantz = AirPlay2Facts(txt: Self.marantz)
        #expect(marantz.features?.supportsAirPlay2 == false)
        #expect(!marantz.videoOnly)
        #expect(AirPlay2Facts(txt: ["features": "0x5A7FFFF7,0xE"]).videoOnly)
        #expect(AirPlay2Facts(txt: ["features": "0x5A7FFFF7,0xE", "flags": "0x204"]).pairing == .legacyPin)
        #expect(AirPlay2Facts(txt: ["flags": "0x84"]).access == .password)
        // What nobody has said is tried.
        let unknown = AirPlay2Facts(txt: [:])
        #expect(unknown.allowsTransient && unknown.takesPTP && !unknown.takesBuffered)
        #expect(AirPlay2Facts(txt: ["features": "soup", "flags": "soup"]) == unknown)
    }

    @Test("A7 PTP, then NTP; what is refused is not tried twice")
    func clocks() {
        var ways = Self.fallBack(Self.homePod)
        #expect(ways.way.clock == .ptp && ways.way.record == .before && ways.way.stream == .realtime)
        let step = ways.next(after: .clock)
        #expect(step?.way.clock == .ntp)
        #expect(step?.words.contains("NTP") == true)
        #expect(ways.next(after: .clock) == nil)
    }

    @Test("A7 A receiver without PTP is not asked to follow it")
    func ntpOnly() {
        var ways = Self.fallBack(["features": "0x445F8A00,0x10040"])
        #expect(ways.way.clock == .ntp)
        #expect(ways.next(after: .clock) == nil)
    }

    @Test("A7 Each failure changes what it speaks against, and no receiver is tried without end")
    func everything() {
        var ways = Self.fallBack(Self.homePod, families: [.ipv4, .ipv6])
        #expect(ways.way.family == .ipv4)
        #expect(ways.next(after: .unreachable)?.way.family == .ipv6)
        #expect(ways.next(after: .unreachable) == nil)
        #expect(ways.next(after: .spelling)?.way.spelling == .http)
        #expect(ways.next(after: .record)?.way.record == .after)
        #expect(ways.next(after: .stream)?.way.record == .before || ways.way.stream == .buffered)
        var tries = 0
        while ways.next(after: [.clock, .record, .stream, .spelling][tries % 4]) != nil { tries += 1 }
        #expect(tries < AirPlay2FallBack.maximumAttempts)
    }

    @Test("A7 What worked is tried first; another version's words, or what is ruled out by now, are not")
    func memory() {
        let way = AirPlay2Way(clock: .ntp, record: .after, spelling: .http, family: .ipv4)
        #expect(AirPlay2Way(remembered: way.description) == way)
        #expect(Self.fallBack(Self.homePod, remembered: way.description).way == way)
        #expect(Self.fallBack(Self.homePod, remembered: "ptp realtime").way.clock == .ptp)
        #expect(Self.fallBack(Self.homePod, remembered: "soup soup soup soup soup").way.clock == .ptp)
        let wished = Self.fallBack(Self.homePod, wishes: ["clock": "ptp"], remembered: way.description)
        #expect(wished.way.clock == .ptp)
        var elsewhere = way
        elsewhere.family = .ipv6
        #expect(Self.fallBack(Self.homePod, remembered: elsewhere.description).way.family == .ipv4)
    }

    @Test("A7 A person's wish is the only way")
    func wishes() {
        var ways = Self.fallBack(Self.homePod, wishes: ["stream": "buffered", "clock": "ptp"])
        #expect(ways.way.stream == .buffered)
        #expect(ways.next(after: .clock) == nil)
        ways = Self.fallBack(Self.homePod, wishes: ["clock": "ntp", "record": "after"])
        #expect(ways.way.clock == .ntp && ways.way.record == .after)
    }

    @Test("A7 Addresses of both families are at hand, one of each")
    func hosts() throws {
        var record = AirPlayEndpointTests.record("_airplay._tcp", "X", port: 7000, Self.homePod)
        record.addresses = ["192.168.1.9", "192.168.1.10", "fe80::1%eth0", "fd00::2"]
        let endpoint = try #require(AirPlayEndpointTests.provider.endpoint(from: record))
        let plan = try AirPlay2Plan(endpoint: endpoint)
        #expect(plan.hosts.map(\.host) == ["192.168.1.9", "fe80::1%eth0"])
        #expect(plan.host(of: AirPlay2Way(family: .ipv6)) == "fe80::1%eth0")
        #expect(plan.host(of: AirPlay2Way(family: .name)) == "192.168.1.9")
    }

    @Test(
        "A7 A URI that wishes what cannot be",
        arguments: [
            "latency=10", "rate=32000", "bits=20", "clock=sundial", "stream=brook", "record=never",
            "stream=buffered&clock=ntp",
        ])
    func impossible(query: String) throws {
        let uri = try DeviceURI("airplay://x?\(query)")
        let error = #expect(throws: RouterError.self) { _ = try AirPlayEndpointTests.provider.endpoint(from: uri) }
        #expect(error?.code == .configuration)
        #expect(error?.hint != nil)
    }

    @Test("A7 A stereo pair and a group name themselves; a device by itself does not")
    func groups() throws {
        func endpoint(_ txt: [String: String]) throws -> Endpoint {
            let record = AirPlayEndpointTests.record(
                "_airplay._tcp", "X", port: 7000, Self.homePod.merging(txt) { $1 })
            return try #require(AirPlayEndpointTests.provider.endpoint(from: record))
        }
        let left = try endpoint(["tsid": "AB-1", "gid": "G", "igl": "1", "gcgl": "1", "gpn": "Living Room"])
        #expect(left.kind == .stereoPair)
        #expect(left.facts["groupID"] == "ab-1")
        #expect(left.facts["groupLeader"] == "1")
        #expect(left.facts["groupName"] == "Living Room")
        let right = try endpoint(["tsid": "ab-1", "gid": "G", "igl": "0", "gcgl": "1"])
        #expect(right.facts["groupID"] == left.facts["groupID"])
        #expect(right.facts["groupLeader"] == "0")
        let grouped = try endpoint(["gid": "G-2", "gcgl": "1", "igl": "0", "pi": "other"])
        #expect(grouped.kind == .group)
        #expect(grouped.facts["groupID"] == "g-2")
        for alone in [["gid": "G", "gcgl": "0", "igl": "0"], ["gid": "P", "gcgl": "1", "pi": "p"], [:]] {
            let endpoint = try endpoint(alone)
            #expect(endpoint.kind == .device)
            #expect(endpoint.facts["groupID"] == nil)
        }
    }

    private static func fallBack(
        _ txt: [String: String], wishes: [String: String] = [:], families: [AirPlay2Way.Family] = [.ipv4],
        remembered: String? = nil
    ) -> AirPlay2FallBack {
        AirPlay2FallBack(facts: AirPlay2Facts(txt: txt), wishes: wishes, families: families, remembered: remembered)
    }
}
