import Dispatch
import Foundation
import Hummingbird

/// An open file that is being sent. Closed with the last reference to it.
final class ServedFile: Sendable {
    /// Reads block: away from the threads that everything else runs on.
    private static let queue = DispatchQueue(label: "router.media.files", attributes: .concurrent)

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

    /// Bytes of a file: exactly `count`, or nil when the file has become shorter or cannot be read.
    func read(at offset: Int64, count: Int) async -> ByteBuffer? {
        await withCheckedContinuation { continuation in
            Self.queue.async { continuation.resume(returning: self.readNow(at: offset, count: count)) }
        }
    }

    private func readNow(at offset: Int64, count: Int) -> ByteBuffer? {
        var buffer = ByteBufferAllocator().buffer(capacity: count)
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
        return done == count ? buffer : nil
    }
}
