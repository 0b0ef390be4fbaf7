import Foundation
import RouteModel

/// How a source is named to ffmpeg and ffprobe, so that neither its name nor its content reaches further than it may.
enum InputArguments {
    /// The `-i` of a source with the options that go before it.
    ///
    /// A file is always `file:` and its absolute path, so that a name like `-y.mp3` or `concat:a` is only a name, and a
    /// playlist inside it can reach no network. Throws `mediaNotFound`, `mediaForbidden` or `mediaUnsupported` for what
    /// is no regular file, before a process is spent on it: a named pipe would hang.
    static func of(_ source: MediaSource) throws -> [String] {
        switch source {
        case .file(let path):
            try FileFacts.check(path)
            return ["-protocol_whitelist", "file,pipe,crypto", "-i", "file:\(path)"]
        case .url(let text):
            guard isWeb(text) else {
                throw RouterError(
                    .mediaUnsupported, "“\(source.label)” is not an http or https address",
                    hint: "Give an address that begins with http:// or https://", scope: .item)
            }
            return [
                // Microseconds without a byte, then it is given up.
                "-rw_timeout", "15000000", "-reconnect", "1", "-reconnect_delay_max", "5",
                "-protocol_whitelist", "http,https,tcp,tls,crypto,httpproxy", "-i", text,
            ]
        }
    }

    static func isWeb(_ text: String) -> Bool {
        let start = text.prefix(8).lowercased()
        return start.hasPrefix("http://") || start == "https://"
    }
}

/// What the file system says of a media file.
struct FileFacts: Sendable, Hashable {
    var device: UInt64
    var inode: UInt64
    var size: Int64
    /// Nanoseconds since 1970.
    var modified: Int64

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    }

    /// Throws when `path` is not a readable, regular file that holds something.
    @discardableResult
    static func check(_ path: String) throws -> FileFacts {
        let label = MediaSource.file(path: path).label
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == EACCES { throw forbidden(label) }
            throw RouterError(.mediaNotFound, "“\(label)” is not there", hint: "Check the name", scope: .item)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            let what = status.st_mode & S_IFMT == S_IFDIR ? "a folder" : "not a regular file"
            throw RouterError(
                .mediaUnsupported, "“\(label)” is \(what)", hint: "Give a file, a folder of files or a playlist",
                scope: .item)
        }
        guard access(path, R_OK) == 0 else { throw forbidden(label) }
        guard status.st_size > 0 else {
            throw RouterError(.mediaUnsupported, "“\(label)” is empty", hint: "Get a whole copy of it", scope: .item)
        }
        return FileFacts(status)
    }

    static func forbidden(_ label: String) -> RouterError {
        RouterError(.mediaForbidden, "“\(label)” must not be read", hint: "Check who may read it", scope: .item)
    }
}
