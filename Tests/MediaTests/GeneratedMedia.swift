import Foundation
import Logging
import RouteBackend
import RouteModel
import RouterTestKit
import Synchronization

@testable import Media

/// A folder of the test's own, gone with the value.
final class ScratchFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "media-tests-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

    @discardableResult
    func write(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        let path = self(name)
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    @discardableResult
    func write(_ name: String, _ text: String) throws -> String { try write(name, Array(text.utf8)) }
}

enum Tools {
    static let ffmpegPath = installed("ffmpeg")
    static let curlPath = installed("curl")

    private static func installed(_ name: String) -> String? {
        ["/usr/bin/\(name)", "/usr/local/bin/\(name)"].first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Runs a program to its end and gives what it printed. From a thread of its own: tests share few.
    @discardableResult
    static func run(_ program: String, _ arguments: [String], input: [UInt8]? = nil) async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try runHere(program, arguments, input: input) })
            }
        }
    }

    /// As above, in the thread that asks.
    static func runHere(_ program: String, _ arguments: [String], input: [UInt8]? = nil) throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        let source = Pipe()
        process.standardInput = input == nil ? FileHandle.nullDevice : source
        try process.run()
        if let input {
            let writer = source.fileHandleForWriting
            Thread.detachNewThread {
                try? writer.write(contentsOf: Data(input))
                try? writer.close()
            }
        }
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw RouterError(.internal, "\(program) ended with \(process.terminationStatus): \(arguments)")
        }
        return [UInt8](data)
    }

    @discardableResult
    static func ffmpeg(_ arguments: [String], input: [UInt8]? = nil) async throws -> [UInt8] {
        try await run(ffmpegPath!, ["-v", "error", "-y"] + arguments, input: input)
    }
}

/// Two tones with a little noise in both channels, made by arithmetic: 16-bit stereo, little-endian.
enum Tone {
    static func samples(frames: Int, seed: UInt32 = 1) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: frames * 4) { bytes, count in
            bytes.withMemoryRebound(to: Int16.self) { values in
                var state = seed
                // Triangles: cheap where nothing is optimised.
                var left: Int32 = 0
                var right: Int32 = 0
                for frame in 0..<frames {
                    state = state &* 1_664_525 &+ 1_013_904_223
                    let step: Int32 = frame / 22_050 % 2 == 0 ? 409 : 613
                    left = (left &+ step) & 0x7FFF
                    right = (right &+ step &* 3 / 2) & 0x7FFF
                    values[2 * frame] = Int16(abs(left &- 0x4000) &- 0x2000 &+ Int32(state >> 24))
                    values[2 * frame + 1] = Int16(abs(right &- 0x4000) &- 0x2000 &- Int32(state >> 24))
                }
            }
            count = frames * 4
        }
    }

    /// Writes samples to a file in the format that its name says, with tags.
    @discardableResult
    static func write(
        _ samples: [UInt8], to path: String, tags: [String: String] = [:], extra: [String] = []
    ) async throws -> String {
        let metadata = tags.sorted { $0.key < $1.key }.flatMap { ["-metadata", "\($0.key)=\($0.value)"] }
        try await Tools.ffmpeg(
            ["-f", "s16le", "-ar", "44100", "-ac", "2", "-i", "pipe:0"] + metadata + extra + ["file:\(path)"],
            input: samples)
        return path
    }
}

/// What a feed told its owner, and what it is given to go on with.
final class FeedScript: Sendable {
    enum Event: Sendable, Equatable {
        case started(ItemID, frame: Int64, offset: MediaTime)
        case ended(ItemID, frame: Int64, code: RouterError.Code?)
    }

    private let state: Mutex<(queue: [FeedItem], events: [Event], errors: [RouterError])>

    init(_ following: [FeedItem] = []) { state = Mutex((following, [], [])) }

    var events: [Event] { state.withLock { $0.events } }
    var errors: [RouterError] { state.withLock { $0.errors } }

    var feedEvents: FeedEvents {
        FeedEvents(
            next: { _ in self.state.withLock { $0.queue.isEmpty ? nil : $0.queue.removeFirst() } },
            started: { item, frame, offset in
                self.state.withLock { $0.events.append(.started(item, frame: frame, offset: offset)) }
            },
            ended: { item, frame, error in
                self.state.withLock {
                    $0.events.append(.ended(item, frame: frame, code: error?.code))
                    if let error { $0.errors.append(error) }
                }
            })
    }
}

func item(_ name: String, _ path: String, start: MediaTime = .zero) -> FeedItem {
    FeedItem(item: ItemID(rawValue: name), source: .file(path: path), start: start)
}

func quietLogger() -> Logger { Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }) }

func library(_ configuration: MediaConfiguration = MediaConfiguration(serverPort: 0)) -> MediaLibrary {
    MediaLibrary(configuration: configuration, clock: SystemHostClock(), logger: quietLogger())
}

extension MediaResponder.Sources {
    /// Files are all there is.
    static let none = MediaResponder.Sources(
        artwork: { _, _ in nil }, image: { _ in nil },
        text: { _ in throw RouterError(.mediaNotFound, "there is no text") })
}

extension AudioPacketFormat {
    static let l16 = AudioPacketFormat(codec: .l16)
    static let alac = AudioPacketFormat(codec: .alac)
}

/// All packets up to the end, one after the other.
func drain(_ cursor: any AudioPacketCursor) async throws -> [AudioPacket] {
    var packets: [AudioPacket] = []
    while let packet = try await cursor.next() { packets.append(packet) }
    return packets
}

/// The little-endian samples of L16 packets.
func samples(ofL16 packets: [AudioPacket]) -> [UInt8] {
    var bytes: [UInt8] = []
    for packet in packets {
        for index in stride(from: 0, to: packet.payload.count, by: 2) {
            bytes.append(packet.payload[index + 1])
            bytes.append(packet.payload[index])
        }
    }
    return bytes
}
