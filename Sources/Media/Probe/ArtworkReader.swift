import Foundation
import RouteBackend
import RouteModel

/// A picture that belongs to an item: inside its file, or beside it in its folder.
struct ArtworkReader: Sendable {
    /// Names that players agree on, best first.
    private static let names = ["cover", "folder", "front", "album", "albumart", "artwork"]
    private static let extensions: Set<String> = ["jpg", "jpeg", "png", "webp", "bmp"]
    /// Bytes of a picture before it is made smaller.
    private static let maximumSource = 32 << 20

    let tool: MediaTool
    let seconds: Int

    /// The picture beside a file, by folder convention.
    static func companion(of source: MediaSource) -> String? {
        guard case .file(let path) = source else { return nil }
        let folder = (path as NSString).deletingLastPathComponent
        guard let entries = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return nil }
        let pictures = entries.filter { extensions.contains(($0 as NSString).pathExtension.lowercased()) }
        for name in names {
            let match = pictures.sorted().first { ($0 as NSString).deletingPathExtension.lowercased() == name }
            if let match, (try? FileFacts.check("\(folder)/\(match)")) != nil { return "\(folder)/\(match)" }
        }
        return nil
    }

    /// As JPEG or PNG of at most `maximumBytes`, made smaller where need be; nil if there is none or it is broken.
    ///
    /// - Parameter side: pixels that neither its width nor its height is to exceed; nil for any.
    func read(_ source: MediaSource, pictureStream: Int?, maximumBytes: Int, side: Int? = nil) async -> Artwork? {
        if let pictureStream, let input = try? InputArguments.of(source) {
            let map = ["-map", "0:\(pictureStream)"]
            if let copied = await output(input + map + ["-c", "copy"]),
                let whole = Self.encoded(copied, maximumBytes, side)
            {
                return whole
            }
            return await shrunk(input + map, maximumBytes, side)
        }
        guard let path = Self.companion(of: source), let facts = try? FileFacts.check(path),
            facts.size <= Self.maximumSource
        else { return nil }
        if facts.size <= maximumBytes, let data = FileManager.default.contents(atPath: path),
            let whole = Self.encoded([UInt8](data), maximumBytes, side)
        {
            return whole
        }
        guard let input = try? InputArguments.of(.file(path: path)) else { return nil }
        return await shrunk(input, maximumBytes, side)
    }

    private func shrunk(_ input: [String], _ maximumBytes: Int, _ wanted: Int?) async -> Artwork? {
        for side in (wanted.map { [$0] } ?? []) + [1000, 600, 300, 120].filter({ $0 < wanted ?? .max }) {
            let scale = "scale='min(\(side),iw)':'min(\(side),ih)':force_original_aspect_ratio=decrease"
            guard
                let bytes = await output(
                    input + ["-frames:v", "1", "-vf", scale, "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-q:v", "4"])
            else { return nil }
            if let picture = Self.encoded(bytes, maximumBytes) { return picture }
        }
        return nil
    }

    private func output(_ arguments: [String]) async -> [UInt8]? {
        let all = ["-v", "level+error", "-nostdin"] + arguments + ["-f", "image2pipe", "pipe:1"]
        let result = try? await tool.run(all, outputLimit: Self.maximumSource, seconds: seconds)
        guard let result, !result.output.isEmpty else { return nil }
        return result.output
    }

    /// Bytes that are a JPEG or PNG, and neither too long nor too large.
    static func encoded(_ bytes: [UInt8], _ maximumBytes: Int, _ side: Int? = nil) -> Artwork? {
        guard bytes.count <= maximumBytes else { return nil }
        if let side {
            guard let facts = ImageFacts(bytes), max(facts.width, facts.height) <= side else { return nil }
        }
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return Artwork(mimeType: "image/jpeg", bytes: bytes) }
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            return Artwork(mimeType: "image/png", bytes: bytes)
        }
        return nil
    }
}
