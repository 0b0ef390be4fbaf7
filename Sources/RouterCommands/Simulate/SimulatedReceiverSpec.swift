import ArgumentParser
import Foundation

/// `NAME[@ADDR[:PORT]]`: one receiver to simulate. An IPv6 address stands in brackets.
struct SimulatedReceiverSpec: Sendable, Hashable {
    static let defaultHost = "127.0.0.1"
    /// Bytes: with the twelve digits and the @ that AirPlay puts before it, a name must fit into one mDNS label of 63.
    static let nameLimit = 50

    var name: String
    /// Numeric, without brackets.
    var host = defaultHost
    /// Nil leaves the choice to `--port` and the kind's standard port; 0 takes any that is free.
    var port: Int?

    init(name: String, host: String = defaultHost, port: Int? = nil) {
        self.name = name
        self.host = host
        self.port = port
    }

    /// Throws `ValidationError`.
    @Sendable init(parsing text: String) throws {
        guard let at = text.lastIndex(of: "@") else {
            self.init(name: try Self.checked(text))
            return
        }
        let place = String(text[text.index(after: at)...])
        let (host, port) = try Self.split(place)
        self.init(
            name: try Self.checked(String(text[..<at])), host: try Self.address(host),
            port: try port.map { try Self.port($0) })
    }

    private static func checked(_ name: String) throws -> String {
        guard !name.isEmpty else { throw ValidationError("the name is empty; write NAME, NAME@ADDR or NAME@ADDR:PORT") }
        guard name.utf8.count <= nameLimit else {
            throw ValidationError("a name has at most \(nameLimit) bytes")
        }
        let controls = name.unicodeScalars.contains { CharacterSet.controlCharacters.contains($0) }
        guard !controls, !name.contains("/"), !name.hasPrefix(".") else {
            throw ValidationError(
                "“\(Console.clean(name))” cannot be a name: it names files too, so no slash and no dot at its start")
        }
        return name
    }

    /// Address and port as written.
    private static func split(_ place: String) throws -> (String, String?) {
        if place.hasPrefix("[") {
            guard let end = place.lastIndex(of: "]") else {
                throw ValidationError("“\(place)” lacks its closing bracket")
            }
            let host = String(place[place.index(after: place.startIndex)..<end])
            let rest = place[place.index(after: end)...]
            if rest.isEmpty { return (host, nil) }
            guard rest.hasPrefix(":") else { throw ValidationError("“\(rest)” after the address is no port") }
            return (host, String(rest.dropFirst()))
        }
        let parts = place.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2 else {
            throw ValidationError("an IPv6 address stands in brackets, such as NAME@[::1]:8009")
        }
        return (parts[0], parts.count == 2 ? parts[1] : nil)
    }

    private static func address(_ host: String) throws -> String {
        var bytes = [UInt8](repeating: 0, count: 16)
        let isAddress = inet_pton(AF_INET, host, &bytes) == 1 || inet_pton(AF_INET6, host, &bytes) == 1
        guard isAddress else {
            throw ValidationError(
                "“\(host)” is not an address; write a numeric one of this machine, such as NAME@127.0.0.1")
        }
        guard bytes.contains(where: { $0 != 0 }) else {
            throw ValidationError("“\(host)” stands for all addresses; name the one that senders are to use")
        }
        return host
    }

    private static func port(_ text: String) throws -> Int {
        guard let port = Int(text), (0...65_535).contains(port) else {
            throw ValidationError("“\(text)” is not a port; a port is a number from 1 to 65535, or 0 for a free one")
        }
        return port
    }
}
