import Foundation
import RouteBackend
import RouteModel
import RouterAPI
import Yams

/// What the configuration file says of how the daemon is reached. Flags and `ROUTER_TOKEN` come before it.
public struct DaemonConfiguration: Sendable, Equatable {
    public enum Listening: Sendable, Equatable {
        case nowhere
        case at(RouterPlace)
    }

    /// By TCP; nil is the usual place.
    public var listen: Listening?
    /// What clients that come by TCP have to show.
    public var token: Secret?
    /// Folders whose files those clients may name; absolute paths.
    public var roots: [String] = []
    /// Names by which this machine is called in addresses.
    public var hostNames: [String] = []

    public init() {}
}

extension ServiceOptions {
    /// Takes up what the file says.
    public mutating func apply(_ configuration: DaemonConfiguration) {
        switch configuration.listen {
        case .nowhere: http = nil
        case .at(let place): http = place
        case nil: break
        }
        token = configuration.token.map { APIToken($0.revealed) } ?? token
        roots += configuration.roots
        hostNames += configuration.hostNames
    }
}

extension ConfigurationReader {
    func daemon(_ node: Node) throws -> DaemonConfiguration {
        var result = DaemonConfiguration()
        let fields = try mapping(node, "daemon", ["listen", "token", "roots", "host_names"])
        if let listen = fields["listen"] { result.listen = try listening(listen) }
        if let token = fields["token"] {
            let text = try string(token, "token")
            guard APIToken.isFit(text) else { throw error(token, APIToken.rule, hint: APIToken.cure) }
            result.token = Secret(text)
        }
        if let roots = fields["roots"] {
            result.roots = try sequence(roots, "roots").map { try folder($0) }
        }
        if let names = fields["host_names"] {
            result.hostNames = try sequence(names, "host_names").map { name in
                let text = try string(name, "a host name")
                guard text.utf8.count <= 255,
                    text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"/@?#[]:".utf8.contains($0) })
                else {
                    throw error(name, "“\(text)” is no host name", hint: "Write it without a port, such as house.local")
                }
                return text
            }
        }
        return result
    }

    private func listening(_ node: Node) throws -> DaemonConfiguration.Listening {
        let text = try string(node, "listen")
        guard text != "none" else { return .nowhere }
        guard !text.hasPrefix("/"), let place = try? RouterPlace(text) else {
            throw error(
                node, "“\(text)” is no place to listen", hint: "Write HOST:PORT, such as 127.0.0.1:7765, or none")
        }
        return .at(place)
    }

    private func folder(_ node: Node) throws -> String {
        let text = try string(node, "a root")
        let path = text == "~" || text.hasPrefix("~/") ? NSHomeDirectory() + text.dropFirst() : text
        guard path.hasPrefix("/") else {
            throw error(node, "the root “\(text)” is no absolute path", hint: "Begin it with / or ~/")
        }
        return URL(fileURLWithPath: path).standardizedFileURL.path
    }
}
