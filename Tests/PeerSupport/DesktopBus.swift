import Foundation
import RouterTestKit

/// A session bus of the tests' own, and the desktop's programs on it.
public final class DesktopBus: Sendable {
    public static let absence: String? = {
        for program in ["dbus-daemon", "dbus-send", "playerctl"] where !Command.exists(program) {
            return "\(program) is not installed"
        }
        return nil
    }()

    public let folder: String
    public let address: String
    private let shell: Process
    private let input: Pipe

    /// Ends with its shell's standard input, whatever becomes of us. Killed and not waited for, because signals are
    /// blocked in what Foundation starts.
    private static let script = """
        start() { dbus-daemon --config-file="$1/bus.conf" --nofork --nopidfile & bus=$!; }
        stop() { kill -KILL $bus; rm -f "$1/bus"; }
        start "$1"
        while read -r word; do "$word" "$1"; done
        stop "$1"
        """

    /// - Parameter policy: what the bus lets its clients do, in its configuration's words.
    public init(policy: String = "<allow own=\"*\"/>") throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "bus-\(UUID().uuidString.prefix(8))").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        self.folder = folder
        address = "unix:path=\(folder)/bus"
        let configuration = """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>session</type>
              <listen>unix:path=\(folder)/bus</listen>
              <auth>EXTERNAL</auth>
              <policy context="default">
                <allow user="*"/><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>\(policy)
              </policy>
            </busconfig>
            """
        try configuration.write(toFile: "\(folder)/bus.conf", atomically: true, encoding: .utf8)
        shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments = ["-c", Self.script, "sh", folder]
        input = Pipe()
        shell.standardInput = input
        shell.standardOutput = FileHandle.nullDevice
        shell.standardError = FileHandle.nullDevice
        try shell.run()
    }

    deinit {
        try? input.fileHandleForWriting.close()
        shell.waitUntilExit()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Waits until it takes calls.
    public func isUp() async -> Bool {
        await eventually {
            let answer = try? await send(
                "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.GetId")
            return answer?.status == 0
        }
    }

    public func stop() throws { try input.fileHandleForWriting.write(contentsOf: Data("stop\n".utf8)) }
    public func start() throws { try input.fileHandleForWriting.write(contentsOf: Data("start\n".utf8)) }

    // MARK: Programs

    public func run(_ program: String, _ arguments: [String]) async throws -> Command.Outcome {
        try await Command.run("env", ["DBUS_SESSION_BUS_ADDRESS=\(address)", "timeout", "20", program] + arguments)
    }

    /// What `playerctl` prints, without the end of the line.
    public func playerctl(_ player: String? = nil, _ arguments: String...) async throws -> Command.Outcome {
        var outcome = try await run("playerctl", (player.map { ["--player", $0] } ?? []) + arguments)
        outcome.output = outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
        return outcome
    }

    /// A call by `dbus-send`, its arguments as that takes them (`string:x`).
    public func send(_ destination: String, _ path: String, _ member: String, _ arguments: String...) async throws
        -> Command.Outcome
    {
        try await run(
            "dbus-send",
            ["--session", "--print-reply", "--reply-timeout=10000", "--dest=\(destination)", path, member] + arguments)
    }

    /// The names that are on the bus.
    public func names() async throws -> String {
        try await send("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.ListNames").output
    }
}

/// A program that goes on, and what it has printed so far. Ends with us.
public final class RunningProgram: Sendable {
    private let process: Process
    private let input = Pipe()
    private let file: String

    public init(_ bus: DesktopBus, _ command: [String]) throws {
        file = "\(bus.folder)/\(UUID().uuidString).out"
        _ = FileManager.default.createFile(atPath: file, contents: nil)
        process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            [
                "DBUS_SESSION_BUS_ADDRESS=\(bus.address)", "sh", "-c",
                "\"$@\" & program=$!; read -r end; kill -KILL $program", "sh",
            ] + command
        process.standardInput = input
        process.standardOutput = try FileHandle(forWritingTo: URL(filePath: file))
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    public var output: String { (try? String(contentsOfFile: file, encoding: .utf8)) ?? "" }
    public var lines: [String] { output.split(separator: "\n").map(String.init) }
}
