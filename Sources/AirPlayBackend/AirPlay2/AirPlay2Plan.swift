import AirPlay
import RouteBackend
import RouteModel

/// How an AirPlay 2 session on this endpoint is to be made, before the receiver has been asked anything.
struct AirPlay2Plan: Sendable {
    var facts: AirPlay2Facts
    /// Addresses to try, best first.
    var hosts: [(family: AirPlay2Way.Family, host: String)]
    /// Milliseconds from sending to hearing.
    var leadMilliseconds: Int
    var sampleRate: Int
    var bitDepth: Int

    static let usualLead = 2000

    /// Throws `configuration` for what a person laid down and cannot be.
    init(endpoint: Endpoint) throws {
        try Self.check(wishes: endpoint.origin == .stated ? endpoint.facts : [:], of: endpoint.name)
        let wishes = endpoint.origin == .stated ? endpoint.facts : [:]
        facts = AirPlay2Facts(txt: endpoint.facts)
        hosts = AirPlayEndpoint.hosts(endpoint)
        leadMilliseconds = wishes["latency"].flatMap(Int.init) ?? Self.usualLead
        sampleRate = wishes["rate"].flatMap(Int.init) ?? 44_100
        bitDepth = wishes["bits"].flatMap(Int.init) ?? 16
    }

    /// The ways to try, beginning with the one that worked last time.
    func fallBack(endpoint: Endpoint, learnt: [String: String]) -> AirPlay2FallBack {
        AirPlay2FallBack(
            facts: facts, wishes: endpoint.origin == .stated ? endpoint.facts : [:], families: hosts.map(\.family),
            remembered: learnt[AirPlay2FallBack.fact])
    }

    func host(of way: AirPlay2Way) -> String {
        hosts.first { $0.family == way.family }?.host ?? hosts[0].host
    }

    /// Throws `configuration` for a wish that cannot be fulfilled.
    static func check(wishes: [String: String], of name: String) throws(RouterError) {
        func refuse(_ key: String, _ what: String, _ usual: String) -> RouterError {
            RouterError(
                .configuration, "the \(key) of \(name) is “\(wishes[key] ?? "")”, and must be \(what)",
                hint: "Leave it out for the usual \(usual)", scope: .route)
        }
        func check(_ key: String, _ what: String, _ usual: String, _ valid: (String) -> Bool) throws(RouterError) {
            guard let wish = wishes[key], !valid(wish) else { return }
            throw refuse(key, what, usual)
        }
        try check("latency", "500 to 8000 milliseconds", "2000") { Int($0).map((500...8000).contains) ?? false }
        try check("rate", "44100 or 48000", "44100") { ["44100", "48000"].contains($0) }
        try check("bits", "16 or 24", "16") { ["16", "24"].contains($0) }
        try check("clock", "ptp or ntp", "choice by what the device says") { AirPlay2Way.Clock(rawValue: $0) != nil }
        try check("stream", "realtime or buffered", "realtime") { AirPlay2Way.Stream(rawValue: $0) != nil }
        try check("record", "before or after", "before") { AirPlay2Way.Record(rawValue: $0) != nil }
        if wishes["stream"] == "buffered", wishes["clock"] == "ntp" {
            throw RouterError(
                .configuration, "\(name) cannot be sent a buffered stream by NTP",
                hint: "Leave out clock=ntp, or take stream=realtime", scope: .route)
        }
    }
}
