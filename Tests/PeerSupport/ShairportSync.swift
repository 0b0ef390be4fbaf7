import Foundation
import RouterTestKit

/// Debian's shairport-sync, as an independent receiver: audio to a file, titles to another.
///
/// It insists on announcing itself by mDNS, which must not leave this machine: its Avahi daemon runs in a lab
/// (`Tests/lab.sh`), in a network of its own, and shairport-sync reaches it by the lab's bus, which is a file.
public final class ShairportSync {
    public struct Unavailable: Error, CustomStringConvertible {
        public var description: String
    }

    public static let program = "/usr/bin/shairport-sync"

    /// Why it cannot be used here; nil if it can.
    public static var missing: String? {
        for needed in [program, "/usr/sbin/avahi-daemon", "/usr/bin/dbus-daemon", "/usr/bin/unshare"]
        where !FileManager.default.isExecutableFile(atPath: needed) {
            return "\(needed) is not installed"
        }
        return geteuid() == 0 ? nil : "a network namespace needs root"
    }

    public let port: Int
    public let directory: URL
    private var lab: Process?
    private var receiver: Process
    private var metadataReader: Process?
    private let output: FileHandle
    private var environment: [String: String] = [:]

    private static func labScript() -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("lab.sh").path
    }

    /// - Parameters:
    ///   - general: lines for the `general` group of the configuration.
    ///   - diagnostics: lines for the `diagnostics` group.
    ///   - output: takes the sound in place of the file.
    public init(general: String = "", diagnostics: String = "", output: FileHandle? = nil) async throws {
        port = Int.random(in: 21_000..<29_000)
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("shairport-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let configuration = """
            general = {
              name = "Router test \(port)"; output_backend = "stdout"; interpolation = "basic"; port = \(port);
              udp_port_base = \(port + 10); udp_port_range = 100; ignore_volume_control = "yes";
              \(general)
            };
            metadata = {
              enabled = "yes"; include_cover_art = "yes"; pipe_name = "\(directory.path)/metadata";
              pipe_timeout = 5000;
            };
            diagnostics = { \(diagnostics) };
            """
        let file = directory.appendingPathComponent("shairport.conf")
        try Data(configuration.utf8).write(to: file)
        for name in ["audio", "log", "metadata.xml"] {
            _ = FileManager.default.createFile(atPath: directory.appendingPathComponent(name).path, contents: nil)
        }
        self.output = try output ?? FileHandle(forWritingTo: directory.appendingPathComponent("audio"))

        var environment = ProcessInfo.processInfo.environment
        if environment["ROUTER_LAB"] != "1" {
            let lab = Process()
            lab.executableURL = URL(fileURLWithPath: "/bin/bash")
            lab.arguments = [Self.labScript(), "--addresses", "0", "--", "/bin/sleep", "infinity"]
            lab.standardError = FileHandle.nullDevice
            lab.standardOutput = FileHandle.nullDevice
            try lab.run()
            self.lab = lab
            let root = "/proc/\(lab.processIdentifier)/root"
            receiver = Process()
            guard
                await eventually({
                    FileManager.default.fileExists(atPath: "\(root)/run/avahi-daemon/pid")
                        && FileManager.default.fileExists(atPath: "\(root)/run/lab/bus.sock")
                })
            else { throw Unavailable(description: "the lab does not start") }
            environment["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=\(root)/run/lab/bus.sock"
        } else {
            receiver = Process()
        }
        self.environment = environment
        try await startReceiver()
        let reader = Process()
        reader.executableURL = URL(fileURLWithPath: "/bin/cat")
        reader.arguments = ["\(directory.path)/metadata"]
        reader.standardOutput = try FileHandle(forWritingTo: directory.appendingPathComponent("metadata.xml"))
        try reader.run()
        metadataReader = reader
    }

    private func startReceiver() async throws {
        // The daemon writes its pid a little before it is on the bus: the receiver gives up then, so it is tried again.
        for _ in 0..<100 {
            let receiver = Process()
            receiver.executableURL = URL(fileURLWithPath: Self.program)
            receiver.arguments = ["-c", directory.appendingPathComponent("shairport.conf").path, "-u", "-vv"]
            receiver.environment = environment
            receiver.standardOutput = output
            receiver.standardError = try FileHandle(forWritingTo: directory.appendingPathComponent("log"))
            receiver.standardInput = FileHandle.nullDevice
            try receiver.run()
            self.receiver = receiver
            let port = port
            if await eventually({ !receiver.isRunning || Self.listens(port) }), receiver.isRunning { break }
        }
        guard receiver.isRunning else { throw Unavailable(description: "shairport-sync does not start: \(log)") }
    }

    /// Starts it again after a `kill`, as it was.
    public func restart() async throws { try await startReceiver() }

    /// Ends it hard, as a device does that loses power.
    public func kill() {
        Foundation.kill(receiver.processIdentifier, SIGKILL)
        receiver.waitUntilExit()
    }

    public func stop() {
        // `unshare` sits out a polite signal; killed, it takes its whole namespace along.
        for process in [receiver, metadataReader, lab].compactMap(\.self) where process.isRunning {
            Foundation.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        try? FileManager.default.removeItem(at: directory)
    }

    public var log: String {
        (try? String(decoding: Data(contentsOf: directory.appendingPathComponent("log")), as: UTF8.self)) ?? ""
    }

    /// Interleaved stereo samples so far.
    public var samples: [Int16] {
        guard let data = try? Data(contentsOf: directory.appendingPathComponent("audio")) else { return [] }
        return data.withUnsafeBytes { raw in
            (0..<(raw.count / 2)).map { Int16(littleEndian: raw.loadUnaligned(fromByteOffset: $0 * 2, as: Int16.self)) }
        }
    }

    /// What the metadata pipe said: the values of each `type code`, decoded.
    public var metadata: [String: [Data]] {
        let text =
            (try? String(decoding: Data(contentsOf: directory.appendingPathComponent("metadata.xml")), as: UTF8.self))
            ?? ""
        var result: [String: [Data]] = [:]
        for item in text.components(separatedBy: "<item>").dropFirst() {
            guard let type = Self.element("type", item).flatMap(Self.fourCharacters),
                let code = Self.element("code", item).flatMap(Self.fourCharacters)
            else { continue }
            let data = item.range(of: "<data encoding=\"base64\">").map { range in
                String(item[range.upperBound...].prefix { $0 != "<" }).filter { !$0.isWhitespace }
            }
            result["\(type) \(code)", default: []].append(data.flatMap { Data(base64Encoded: $0) } ?? Data())
        }
        return result
    }

    private static func element(_ name: String, _ text: String) -> String? {
        guard let start = text.range(of: "<\(name)>"), let end = text.range(of: "</\(name)>") else { return nil }
        return String(text[start.upperBound..<end.lowerBound])
    }

    private static func fourCharacters(_ hex: String) -> String? {
        guard let number = UInt32(hex, radix: 16) else { return nil }
        return String(decoding: (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }, as: UTF8.self)
    }

    private static func listens(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
