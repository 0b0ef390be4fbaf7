import Foundation
import Logging
import Media
import RouteBackend
import RouteModel

/// Files of sound in a folder that is gone with the value, and the media library that prepares them.
final class Tunes: Sendable {
    let media: MediaLibrary
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "conformance-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        media = MediaLibrary(
            configuration: MediaConfiguration(serverPort: 0), clock: SystemHostClock(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func stop() async { await media.stop() }

    /// A second of the tone, as it is in a file.
    private static let second: Data = {
        var data = Data()
        for frame in 0..<44_100 {
            let sample = Int16(3000 * sin(2 * .pi * 441 * Double(frame) / 44_100)).littleEndian
            for _ in 0..<2 { withUnsafeBytes(of: sample) { data.append(contentsOf: $0) } }
        }
        return data
    }()

    /// A quiet tone of so many seconds, 16 bit stereo at 44,100 Hz.
    func tune(seconds: Double) throws -> MediaSource {
        let file = folder.appending(path: "\(seconds)-\(UUID().uuidString.prefix(8)).wav")
        let frames = Int(seconds * 44_100)
        var data = Data("RIFF".utf8)
        func append(_ number: some FixedWidthInteger) {
            withUnsafeBytes(of: number.littleEndian) { data.append(contentsOf: $0) }
        }
        append(UInt32(36 + frames * 4))
        data.append(Data("WAVEfmt ".utf8))
        append(UInt32(16))
        for field in [1, 2] as [UInt16] { append(field) }
        append(UInt32(44_100))
        append(UInt32(176_400))
        for field in [4, 16] as [UInt16] { append(field) }
        data.append(Data("data".utf8))
        append(UInt32(frames * 4))
        // The tone fits a second, and so do its repetitions.
        for second in stride(from: 0, to: frames, by: 44_100) {
            data.append(Self.second.prefix(min(44_100, frames - second) * 4))
        }
        try data.write(to: file)
        return .file(path: file.path())
    }

    /// A file that says that it is sound.
    func noise() throws -> MediaSource {
        let file = folder.appending(path: "noise-\(UUID().uuidString.prefix(8)).mp3")
        try Data("this is no sound\n".utf8).write(to: file)
        return .file(path: file.path())
    }
}
