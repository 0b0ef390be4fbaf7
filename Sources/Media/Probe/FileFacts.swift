// `struct stat` has no module of its own in glibc, and the compiler takes it for part of the first that includes it.
import CDispatch
import Foundation
import RouteModel

/// What the file system says of a file.
struct FileFacts: Sendable, Hashable {
    enum Kind: Sendable, Hashable { case file, folder, pipe, other }

    let kind: Kind
    let inode: UInt64
    let size: Int64
    /// Nanoseconds since 1970.
    let modified: Int64

    private init(_ status: stat) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: kind = .file
        case S_IFDIR: kind = .folder
        case S_IFIFO: kind = .pipe
        default: kind = .other
        }
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    }

    /// Links are followed. Throws `mediaForbidden`, or nil when there is nothing of that name.
    init?(path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == EACCES { throw Self.forbidden(path) }
            return nil
        }
        self.init(status)
    }

    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Throws when `path` is not a readable, regular file that holds something.
    @discardableResult
    static func check(_ path: String) throws -> FileFacts {
        let label = MediaSource.file(path: path).label
        guard let facts = try FileFacts(path: path) else {
            throw RouterError(.mediaNotFound, "“\(label)” is not there", hint: "Check the name", scope: .item)
        }
        guard facts.kind == .file else {
            throw RouterError(
                .mediaUnsupported, "“\(label)” is \(facts.kind == .folder ? "a folder" : "not a regular file")",
                hint: "Give a file, a folder of files or a playlist", scope: .item)
        }
        guard access(path, R_OK) == 0 else { throw forbidden(path) }
        guard facts.size > 0 else {
            throw RouterError(.mediaUnsupported, "“\(label)” is empty", hint: "Get a whole copy of it", scope: .item)
        }
        return facts
    }

    static func forbidden(_ path: String) -> RouterError {
        RouterError(
            .mediaForbidden, "“\(MediaSource.file(path: path).label)” must not be read", hint: "Check who may read it",
            scope: .item)
    }
}
