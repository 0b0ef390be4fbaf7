import Foundation

/// Looks whether somebody listens at a Unix socket, without a word being said.
enum UnixSocket {
    /// Who listens there; nil where nobody does, or the file is none or a dead one.
    static func listener(at path: String) -> Listener? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        // One byte stays for the zero at the end.
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let answered = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) == 0 }
        }
        // One whose line is full listens too, though it may hang (unix(7)).
        guard answered else { return errno == EAGAIN ? Listener() : nil }
        var peer = Credentials()
        var length = socklen_t(MemoryLayout<Credentials>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 else { return Listener() }
        return Listener(process: peer.process, user: peer.user)
    }

    struct Listener: Equatable {
        /// Which process began to listen: 1 where systemd holds the socket.
        var process: pid_t?
        var user: uid_t?

        /// Whether systemd holds the socket, for a daemon that it starts when somebody knocks.
        var isSystemd: Bool {
            guard let process else { return false }
            return FileManager.default.contents(atPath: "/proc/\(process)/comm") == Data("systemd\n".utf8)
        }
    }

    /// The kernel's `struct ucred`, which Glibc hides.
    private struct Credentials {
        var process: pid_t = 0
        var user: uid_t = 0
        var group: gid_t = 0
    }
}
