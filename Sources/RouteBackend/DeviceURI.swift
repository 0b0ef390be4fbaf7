import Foundation
import RouteModel

/// A receiver as a person names it without discovery: `raop://192.168.1.20:5000?name=Kitchen&et=1`.
public struct DeviceURI: Sendable, Hashable {
    public var scheme: String
    /// A host name or address, IPv6 without brackets.
    public var host: String
    public var port: Int?
    /// What a TXT record would have said.
    public var query: [String: String]
    /// The URI as given.
    public var text: String

    /// Throws `configuration` with what is wrong and an example.
    public init(_ text: String) throws {
        self.text = text
        let example = "Write it like raop://192.168.1.20:5000?name=Kitchen or cast://192.168.1.21"
        // What may hold something meant as a secret is not repeated, whatever else is wrong with it.
        let lowercased = text.lowercased()
        let secretive = ["@", "password", "pin"].contains { lowercased.contains($0) }
        let shown = secretive ? "what was given" : "“\(text)”"
        let components = URLComponents(string: text)
        guard !text.prefix(while: { $0 != "?" && $0 != "#" }).contains("@"), components?.user == nil,
            components?.password == nil
        else {
            throw RouterError(
                .configuration, "a device URI must not hold a user name or password",
                hint: "Give the password by prompt, by ROUTER_PASSWORD or in the configuration file")
        }
        guard let components, let scheme = components.scheme else {
            throw RouterError(.configuration, "\(shown) is not a device URI", hint: example)
        }
        guard let host = components.host, !host.isEmpty else {
            throw RouterError(.configuration, "\(shown) names no host", hint: example)
        }
        guard components.path.isEmpty || components.path == "/" else {
            throw RouterError(.configuration, "\(shown) has a path, and a device URI has none", hint: example)
        }
        if let port = components.port, !(1...65535).contains(port) {
            throw RouterError(.configuration, "\(shown) has a port outside 1 to 65535", hint: example)
        }
        self.scheme = scheme.lowercased()
        self.host = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        self.port = components.port
        var query: [String: String] = [:]
        for item in components.queryItems ?? [] {
            let key = item.name.lowercased()
            guard key != "password", key != "pin" else {
                throw RouterError(
                    .configuration, "a device URI must not hold a \(key)",
                    hint: "Give it by prompt, by ROUTER_PASSWORD or in the configuration file")
            }
            query[key] = item.value ?? ""
        }
        self.query = query
    }
}
