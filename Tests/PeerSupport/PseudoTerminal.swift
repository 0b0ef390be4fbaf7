import Foundation
import RouterTestKit

/// A shell in a pseudo-terminal (util-linux's `script`), typed into as a person types.
public final class PseudoTerminal: @unchecked Sendable {
    private let process = Process()
    private let keys = Pipe()
    private let screenPath: String
    private var typed = 0

    /// - Parameter folder: keeps what stands on the screen.
    public init(environment: [String: String], in folder: URL) throws {
        let screen = folder.appendingPathComponent("screen-\(UUID().uuidString)")
        screenPath = screen.path
        _ = FileManager.default.createFile(atPath: screenPath, contents: nil)
        var variables = ProcessInfo.processInfo.environment
        variables["TERM"] = "xterm"
        variables["SHELL"] = "/bin/bash"
        variables["PS1"] = ""
        variables.merge(environment) { _, new in new }
        process.executableURL = URL(fileURLWithPath: "/usr/bin/script")
        process.arguments = ["-q", "-f", "-c", "exec bash --norc --noprofile -i", screenPath]
        process.environment = variables
        process.currentDirectoryURL = folder
        process.standardInput = keys
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    deinit { close() }

    public var screen: String {
        ((try? String(contentsOfFile: screenPath, encoding: .utf8)) ?? "").replacing("\r\n", with: "\n")
    }

    /// Types a line, and waits for nothing.
    public func type(_ line: String) { try? keys.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

    /// Types a command and waits for its end: what it printed, and its exit status; nil where it does not end.
    public func run(_ command: String, within limit: Duration = .seconds(60)) async -> (status: Int32, output: String)?
    {
        typed += 1
        let (begin, end) = ("@begin\(typed)@", "@end\(typed)@")
        // The marks are put together by the shell, so that the echo of what is typed does not hold them.
        let line = "echo '@'begin\(typed)'@'; \(command); echo '@'end\(typed)'@' $?"
        type(line)
        var found: (Int32, String)?
        _ = await eventually(within: limit) {
            let screen = self.screen
            guard let first = screen.range(of: begin + "\n"),
                let last = screen.range(of: end + " ", range: first.upperBound..<screen.endIndex)
            else { return false }
            let digits = screen[last.upperBound...].prefix { $0.isNumber }
            guard let status = Int32(digits) else { return false }
            found = (status, String(screen[first.upperBound..<last.lowerBound]))
            return true
        }
        return found
    }

    /// Takes the terminal away, as a window that is closed.
    public func close() {
        try? keys.fileHandleForWriting.close()
        if process.isRunning { kill(process.processIdentifier, SIGHUP) }
    }
}
