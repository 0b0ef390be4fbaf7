import Foundation
import RouterTestKit

/// A Python program of the tests, running: it prints JSON lines and ends when its standard input does.
public actor PeerProgram {
    public typealias Line = [String: any Sendable]

    private let process = Process()
    private let input = Pipe()
    private var reader: Task<Void, Never>?
    private var output: AsyncStream<Data>.Continuation?
    private var isRead = false
    public private(set) var lines: [Line] = []

    public static let python: String? = ["/usr/bin/python3", "/usr/local/bin/python3"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    /// Why tests with it cannot run here; nil if they can.
    public static let absence: String? = {
        guard python != nil else { return "python3 is not installed" }
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl") else {
            return "the openssl command is not installed"
        }
        return nil
    }()

    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "EndToEndTests/peers")

    /// - Parameters:
    ///   - script: a path from `Tests/EndToEndTests/peers`.
    ///   - interpreter: another Python than the machine's, for its modules.
    public init(_ script: String, _ arguments: [String], interpreter: String? = nil) throws {
        process.executableURL = URL(filePath: interpreter ?? Self.python ?? "/usr/bin/python3")
        process.arguments = [Self.folder.appending(path: script).path] + arguments
        process.standardInput = input
    }

    /// Starts it and returns the port that it listens on.
    public func start() async throws -> Int {
        let output = Pipe()
        process.standardOutput = output
        let (chunks, continuation) = AsyncStream.makeStream(of: Data.self)
        output.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            if data.isEmpty {
                handle.readabilityHandler = nil
                continuation.finish()
            } else {
                continuation.yield(data)
            }
        }
        try process.run()
        self.output = continuation
        reader = Task {
            var rest = Data()
            for await chunk in chunks {
                rest.append(chunk)
                while let end = rest.firstIndex(of: 10) {
                    self.take(rest[rest.startIndex..<end])
                    rest = Data(rest[(end + 1)...])
                }
            }
            self.isRead = true
        }
        _ = await eventually { !self.lines.isEmpty || !self.process.isRunning }
        guard let port = events("listening").first?["port"] as? Int else { throw CocoaError(.fileReadUnknown) }
        return port
    }

    public func events(_ name: String) -> [Line] { lines.filter { $0["event"] as? String == name } }

    /// Types of the messages that came in, in order.
    public func messages() -> [String] { events("message").compactMap { $0["type"] as? String } }

    public func stop() async {
        try? input.fileHandleForWriting.close()
        // Not `waitUntilExit`: it would hold one of the few threads that all tests share, and for as long as another
        // program lives that has inherited the end of a socket by which Foundation notices the end of this one.
        if !(await eventually(within: .seconds(10), { !self.process.isRunning })) {
            kill(process.processIdentifier, SIGKILL)
        }
        // Foundation has been seen to tell nothing of the end of an output, and a test waited for it for ever.
        if !(await eventually(within: .seconds(10), { self.isRead || self.reader == nil })) { output?.finish() }
        await reader?.value
    }

    private func take(_ line: Data) {
        guard let object = try? JSONSerialization.jsonObject(with: line) as? [String: Any] else { return }
        lines.append(object.compactMapValues(Self.sendable))
    }

    private static func sendable(_ value: Any) -> (any Sendable)? {
        switch value {
        case let text as String: text
        case let number as Int: number
        case let number as Double: number
        case let list as [Any]: list.compactMap(sendable)
        case let object as [String: Any]: object.compactMapValues(sendable)
        default: nil
        }
    }
}
