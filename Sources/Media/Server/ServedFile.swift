import Foundation
import Hummingbird

/// An open file that is being sent. Closed with the last reference to it.
final class ServedFile: Sendable {
    private let descriptor: Int32
    let facts: FileFacts

    /// Nil when it cannot be opened or is no regular file.
    init?(path: String) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        guard let facts = FileFacts(descriptor: descriptor), facts.kind == .file else {
            close(descriptor)
            return nil
        }
        self.facts = facts
    }

    deinit { close(descriptor) }

    /// Puts exactly `count` bytes into the buffer; false when the file has become shorter or cannot be read.
    ///
    /// Blocks while a disk seeks: only for the media server's own threads (see `MediaChannel`).
    func read(at offset: Int64, count: Int, into buffer: inout ByteBuffer) -> Bool {
        buffer.clear(minimumCapacity: count)
        let done = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { target in
            var done = 0
            while done < count {
                let read = pread(descriptor, target.baseAddress! + done, count - done, off_t(offset) + off_t(done))
                if read < 0, errno == EINTR { continue }
                guard read > 0 else { break }
                done += read
            }
            return done
        }
        return done == count
    }
}

/// What an answer is made of: an open file, or bytes that were made for it.
enum ServedContent: Sendable {
    case file(ServedFile)
    case bytes([UInt8])

    var size: Int64 {
        switch self {
        case .file(let file): file.facts.size
        case .bytes(let bytes): Int64(bytes.count)
        }
    }

    var tag: EntityTag {
        switch self {
        case .file(let file): EntityTag(file.facts)
        case .bytes(let bytes): EntityTag(of: bytes)
        }
    }

    /// Puts exactly `count` bytes into the buffer; false when they cannot be had.
    func read(at offset: Int64, count: Int, into buffer: inout ByteBuffer) -> Bool {
        switch self {
        case .file(let file): return file.read(at: offset, count: count, into: &buffer)
        case .bytes(let bytes):
            let start = Int(offset)
            guard start >= 0, count >= 0, start + count <= bytes.count else { return false }
            buffer.clear(minimumCapacity: count)
            buffer.writeBytes(bytes[start..<start + count])
            return true
        }
    }
}
