import ArgumentParser

/// A receiver to simulate, as typed: `NAME[@ADDR[:PORT]]`, an IPv6 address in brackets.
struct SimulatedPlace: ExpressibleByArgument, Sendable, Equatable {
    var name: String
    var host: String?
    var port: Int?

    init(name: String, host: String? = nil, port: Int? = nil) {
        self.name = name
        self.host = host
        self.port = port
    }

    init?(argument: String) {
        let parts = argument.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        name = String(parts[0])
        // The name names files too.
        guard !name.isEmpty, !name.contains("/"), !name.hasPrefix(".") else { return nil }
        guard parts.count == 2 else { return }
        var host = parts[1]
        if let end = host.lastIndex(of: ":"), !host.hasPrefix("[") || host.hasSuffix("]") == false {
            guard let port = Int(host[host.index(after: end)...]), (0...65_535).contains(port) else { return nil }
            self.port = port
            host = host[..<end]
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { return nil }
        self.host = String(host)
    }
}

/// A fault on demand, as typed: `[NAME:]KIND[=VALUE]`.
struct SimulatedFault: ExpressibleByArgument, Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// Connections are closed at once.
        case refuse
        /// Connections are taken, and nothing is ever answered.
        case silent
        /// Each answer comes this many seconds late.
        case slow(Double)
        /// The connection is dropped at the message of this number.
        case drop(Int)
        /// AirPlay: another sender plays.
        case busy
        /// AirPlay: whatever password is sent is the wrong one.
        case wrongPassword
        /// AirPlay: this share of the audio packets gets lost, 0 to 1.
        case lose(Double)
        /// Cast: every LOAD fails with this code.
        case loadFailed(Int)
    }

    /// The receiver that has it; nil is all of them.
    var receiver: String?
    var kind: Kind

    static let words =
        "refuse, silent, slow=SECONDS, drop=MESSAGE, busy, wrong-password, lose=PERCENT or load-failed=CODE"

    init?(argument: String) {
        var rest = Substring(argument)
        if let colon = rest.lastIndex(of: ":") {
            receiver = String(rest[..<colon])
            rest = rest[rest.index(after: colon)...]
        }
        let parts = rest.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let value = parts.count == 2 ? String(parts[1]) : nil
        switch (parts[0], value) {
        case ("refuse", nil): kind = .refuse
        case ("silent", nil): kind = .silent
        case ("busy", nil): kind = .busy
        case ("wrong-password", nil): kind = .wrongPassword
        case ("slow", let text?):
            guard let seconds = Double(text), (0...3600).contains(seconds) else { return nil }
            kind = .slow(seconds)
        case ("drop", let text?):
            guard let number = Int(text), number > 0 else { return nil }
            kind = .drop(number)
        case ("lose", let text?):
            guard let percent = Double(text), (0...100).contains(percent) else { return nil }
            kind = .lose(percent / 100)
        case ("load-failed", let text?):
            guard let code = Int(text) else { return nil }
            kind = .loadFailed(code)
        default: return nil
        }
    }
}
