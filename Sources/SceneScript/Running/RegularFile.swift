import Foundation

/// Reads files that somebody else has named. A named pipe or a device in the place of a file is an error, and holds
/// nobody up.
public enum RegularFile {
    public enum Failure: Error, Sendable, Hashable {
        case missing
        /// It is a folder, a named pipe, a socket or a device.
        case notAFile
        case tooLarge
        /// Why, in the system's words.
        case unreadable(String)
    }

    /// All that is in it.
    ///
    /// - Parameter limit: bytes; a file with more is not read.
    public static func read(_ path: String, limit: Int) throws(Failure) -> Data {
        // Without waiting: a pipe is opened for reading at once, whether anybody writes to it or not.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT, ENOTDIR: throw .missing
            case ENXIO: throw .notAFile
            default: throw .unreadable(String(cString: strerror(errno)))
            }
        }
        defer { close(descriptor) }
        var information = stat()
        guard fstat(descriptor, &information) == 0 else { throw .unreadable(String(cString: strerror(errno))) }
        guard information.st_mode & S_IFMT == S_IFREG else { throw .notAFile }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        let data: Data
        do {
            // One byte more than is allowed shows that there is more: a file may grow, or say nothing of its size.
            data = try handle.read(upToCount: limit + 1) ?? Data()
        } catch {
            throw .unreadable(error.localizedDescription)
        }
        guard data.count <= limit else { throw .tooLarge }
        return data
    }
}
