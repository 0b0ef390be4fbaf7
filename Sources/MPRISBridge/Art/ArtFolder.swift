import Foundation

/// Pictures as files, named by what is in them: a desktop keeps a picture by its address, so another picture must have
/// another one.
///
/// The folder is ours alone and readable by nobody else; the oldest pictures go.
struct ArtFolder {
    /// Files at most; more than players remember.
    static let maximumFiles = 64
    /// Bytes of one picture at most.
    static let maximumBytes = 8 << 20

    private let path: String
    /// Oldest first.
    private var names: [String] = []

    /// Makes the folder, and empties it of pictures that an earlier run left. Throws where it cannot be had, or is
    /// somebody else's.
    init(_ path: String) throws {
        self.path = path
        let manager = FileManager.default
        let parent = (path as NSString).deletingLastPathComponent
        try manager.createDirectory(atPath: parent, withIntermediateDirectories: true)
        if mkdir(path, 0o700) != 0 {
            var facts = stat()
            // A link, or another person's folder, could show them what is played here.
            guard errno == EEXIST, lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR,
                facts.st_uid == geteuid(), chmod(path, 0o700) == 0
            else { throw CocoaError(.fileWriteNoPermission) }
        }
        for name in try manager.contentsOfDirectory(atPath: path) where Self.isOurs(name) {
            try? manager.removeItem(atPath: "\(path)/\(name)")
        }
    }

    /// The address of a file with this picture; nil for what is none, too large, or cannot be written.
    ///
    /// - Parameter shown: the addresses of pictures that do not go, however old.
    mutating func keep(_ bytes: [UInt8], shown: Set<String> = []) -> String? {
        guard bytes.count <= Self.maximumBytes, let kind = Self.kind(bytes) else { return nil }
        let name = "\(Self.hash(bytes)).\(kind)"
        let file = "\(path)/\(name)"
        if let place = names.firstIndex(of: name) {
            names.remove(at: place)
        } else {
            // By another name first, so that nobody sees half of one.
            let partial = "\(path)/\(name).part"
            guard
                FileManager.default.createFile(
                    atPath: partial, contents: Data(bytes), attributes: [.posixPermissions: 0o600]),
                rename(partial, file) == 0
            else {
                try? FileManager.default.removeItem(atPath: partial)
                return nil
            }
        }
        names.append(name)
        if names.count > Self.maximumFiles,
            let place = names.dropLast().firstIndex(where: { !shown.contains(address($0)) })
        {
            try? FileManager.default.removeItem(atPath: "\(path)/\(names.remove(at: place))")
        }
        return address(name)
    }

    private func address(_ name: String) -> String { URL(filePath: "\(path)/\(name)").absoluteString }

    /// Takes all pictures away.
    mutating func clear() {
        for name in names { try? FileManager.default.removeItem(atPath: "\(path)/\(name)") }
        names = []
    }

    /// By the first bytes: what a server calls a picture need not be one.
    static func kind(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "jpg" }
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "png" }
        if bytes.starts(with: "GIF8".utf8) { return "gif" }
        if bytes.count >= 12, bytes.starts(with: "RIFF".utf8), bytes[8..<12].elementsEqual("WEBP".utf8) {
            return "webp"
        }
        return nil
    }

    /// FNV-1a of 128 bits: a name, not a proof.
    static func hash(_ bytes: [UInt8]) -> String {
        var hash: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
        for byte in bytes { hash = (hash ^ UInt128(byte)) &* 0x0000_0000_0100_0000_0000_0000_0000_013b }
        let text = String(hash, radix: 16)
        return String(repeating: "0", count: 32 - text.count) + text
    }

    private static func isOurs(_ name: String) -> Bool {
        name.wholeMatch(of: #/[0-9a-f]{32}\.(?:jpg|png|gif|webp)(?:\.part)?/#) != nil
    }
}
