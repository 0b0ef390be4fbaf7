import ArgumentParser
import Foundation
import RouteModel
import RouterAPI

struct APICommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "api",
        abstract: "Make any request to the daemon, as other programs do.",
        discussion: """
            The path may leave out /api/v1. The body is JSON: words, a file by @FILE, or - for standard input. What the \
            daemon answers is printed as it is; an error of it exits with that error's status.

              router api get rooms
              router api get /api/v1/openapi.json
              router api post sessions/current/commands '{"command": {"type": "pause"}}'
              router api put groups/upstairs @group.json
            """)

    @Argument(help: "get, post, put, patch or delete.")
    var method: String

    @Argument(help: "The path, with its query.")
    var path: String

    @Argument(help: "A JSON document, @FILE or -.", completion: .file())
    var body: String?

    @OptionGroup var options: GlobalOptions

    private static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]
    /// Bytes that a body has at most: what a daemon takes.
    private static let maximumBody = 1 << 20

    func validate() throws {
        guard Self.methods.contains(method.uppercased()) else {
            throw ValidationError(
                "“\(method)” is no method. There are \(Self.methods.joined(separator: ", ").lowercased()).")
        }
        guard !path.isEmpty, path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw ValidationError("“\(path)” is no path. Write what is special in it with %, such as %20 for a space.")
        }
    }

    /// As it is asked for.
    static func fullPath(_ path: String) -> String {
        let path = path.hasPrefix("/") ? path : "/" + path
        return path.hasPrefix("/api/") || path == "/metrics" ? path : APIVersion.prefix + path
    }

    func run() async throws {
        try await reporting(options) {
            guard Self.fullPath(path).prefix(while: { $0 != "?" }) != APIVersion.prefix + "/events" else {
                throw UsageError("the stream of events never ends", hint: "Follow it with “router watch -o ndjson”")
            }
            let content = try body.map(Self.content)
            return try await RouterConnection.daemon(options) { context, client in
                let (status, bytes) = try await context.within("the request") {
                    try await client.send(method: method, path: Self.fullPath(path), body: content)
                }
                return try Self.show(status, bytes, context)
            }
        }
    }

    private static func content(_ body: String) throws -> [UInt8] {
        let data: Data
        if body == "-" {
            data = (try? FileHandle.standardInput.read(upToCount: maximumBody + 1)) ?? Data()
        } else if body.hasPrefix("@") {
            let path = String(body.dropFirst())
            guard let handle = FileHandle(forReadingAtPath: path) else {
                throw RouterError(
                    .mediaNotFound, "the file \(path) cannot be read", hint: "Check its name and permissions",
                    scope: .command)
            }
            data = (try? handle.read(upToCount: maximumBody + 1)) ?? Data()
        } else {
            data = Data(body.utf8)
        }
        guard data.count <= maximumBody else {
            throw UsageError("the body is larger than \(maximumBody / 1024) KiB", hint: "A daemon takes no larger one")
        }
        return Array(data)
    }

    private static func show(_ status: Int, _ bytes: [UInt8], _ context: VerbContext) throws -> Int32 {
        let text = String(decoding: bytes, as: UTF8.self)
        guard (200..<300).contains(status) else {
            if let problem = try? JSONDecoder().decode(Problem.self, from: Data(bytes)) { throw problem.error }
            throw RouterError(
                .protocolViolation, "the daemon answered with status \(status)", hint: "Check the path of the request",
                scope: .command, causes: text.isEmpty ? [] : [String(text.prefix(200))])
        }
        guard !bytes.isEmpty else { return 0 }
        if let value = try? JSONDecoder().decode(OutputValue.self, from: Data(bytes)) {
            switch context.options.output {
            case .yaml: for line in YAMLText.lines(value) { context.console.out(line) }
            case .ndjson:
                guard case .list(let values) = value else { fallthrough }
                for value in values { context.console.out(try Renderer.jsonLine(value)) }
            case .plain: context.console.out(try Renderer.jsonLine(value))
            default: context.console.out(try Renderer.json(value))
            }
        } else {
            context.console.raw(text.hasSuffix("\n") ? text : text + "\n")
        }
        return 0
    }
}
