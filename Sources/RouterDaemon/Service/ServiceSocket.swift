import CDispatch
import Foundation
import RouteModel
import RouterAPI
import Synchronization

/// A listening socket, made and owned here so that nobody else can reach it for a moment, and so that one that systemd
/// has opened is the same to the rest.
final class ServiceSocket: Sendable {
    /// Handed to the event loop, which closes it.
    let descriptor: Int32
    let place: RouterPlace
    /// Held for as long as the daemon lives, so that a second one knows of it.
    private let lock: Int32?
    private let isLetGo = Atomic(false)
    /// Removed at the end; nil for what systemd has made.
    private let path: String?

    private init(_ descriptor: Int32, _ place: RouterPlace, lock: Int32? = nil, path: String? = nil) {
        self.descriptor = descriptor
        self.place = place
        self.lock = lock
        self.path = path
    }

    /// Nobody is to find what answers no more.
    func remove() {
        if let path { unlink(path) }
        // Once: its number may be another file's by then.
        if let lock, !isLetGo.exchange(true, ordering: .relaxed) { close(lock) }
    }

    // MARK: Unix

    /// A socket that only this user may use (0600), in a folder that only this user may enter (0700). One that a daemon
    /// has left behind is replaced. Throws `configuration` where another daemon has it.
    static func unix(path: String) throws -> ServiceSocket {
        guard path.hasPrefix("/"), path.utf8.count < maximumPath else {
            throw RouterError(
                .configuration, "the socket's path \(path) is no absolute path of less than \(maximumPath) bytes",
                hint: "Give a shorter one", retry: .afterUserAction)
        }
        try makeFolder((path as NSString).deletingLastPathComponent)
        let lock = try lock(path)
        do {
            return ServiceSocket(try bound(path), .socket(path: path), lock: lock, path: path)
        } catch {
            close(lock)
            throw error
        }
    }

    /// `sun_path`, with its closing zero.
    private static let maximumPath = 108

    private static func makeFolder(_ folder: String) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw RouterError(
                .configuration, "the socket's folder \(folder) cannot be made",
                hint: "Check its permissions, or XDG_RUNTIME_DIR", retry: .afterUserAction,
                causes: [error.localizedDescription])
        }
    }

    /// A lock goes with its process, however that ends; a socket's file stays.
    private static func lock(_ path: String) throws -> Int32 {
        let descriptor = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("the socket \(path) cannot be locked") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw RouterError(
                .configuration, "a daemon is running already at \(path)",
                hint: "Use it, or end it with “router daemon stop”", retry: .afterUserAction)
        }
        return descriptor
    }

    private static func bound(_ path: String) throws -> Int32 {
        var old = stat()
        if lstat(path, &old) == 0 {
            guard old.st_mode & S_IFMT == S_IFSOCK else {
                throw RouterError(
                    .configuration, "\(path) is there and is no socket", hint: "Remove it, or name another socket",
                    retry: .afterUserAction)
            }
            // Its daemon had no lock any more. One that systemd listens at for a daemon to come is none of ours.
            guard !answers(path) else {
                throw RouterError(
                    .configuration, "something listens at \(path) already",
                    hint: "Where that is systemd, “router status” starts the daemon; or stop router.socket first",
                    retry: .afterUserAction)
            }
            unlink(path)
        }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw failure("no socket can be had") }
        // Before it is bound, so that its file never has another mode (unix(7): what fchmod set is what bind makes).
        fchmod(descriptor, 0o600)
        guard withAddress(path, { bind(descriptor, $0, $1) }) == 0, chmod(path, 0o600) == 0,
            listen(descriptor, backlog) == 0
        else {
            let error = failure("the socket \(path) cannot be made")
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Whether somebody takes connections there.
    private static func answers(_ path: String) -> Bool {
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // One whose queue is full listens as well.
        return withAddress(path) { connect(descriptor, $0, $1) } == 0 || errno == EAGAIN
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    private static let backlog: Int32 = 1024

    private static func failure(_ message: String) -> RouterError {
        RouterError(
            .configuration, message, hint: "Check the permissions of its folder", retry: .afterUserAction,
            causes: [String(cString: strerror(errno))])
    }

    // MARK: TCP

    /// Throws `configuration` where the address is no address of this machine, or is taken.
    static func tcp(host: String, port: Int) throws -> ServiceSocket {
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &found) == 0, let first = found else {
            throw RouterError(
                .configuration, "“\(host)” is no address of this machine", hint: "Listen on 127.0.0.1",
                retry: .afterUserAction)
        }
        defer { freeaddrinfo(first) }
        let info = first.pointee
        let descriptor = socket(info.ai_family, info.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), info.ai_protocol)
        guard descriptor >= 0 else { throw failure("no socket can be had") }
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        guard bind(descriptor, info.ai_addr, info.ai_addrlen) == 0, listen(descriptor, backlog) == 0 else {
            let cause = String(cString: strerror(errno))
            close(descriptor)
            throw RouterError(
                .configuration, "port \(port) of \(host) cannot be listened on",
                hint: "Choose another port; or another daemon runs already", retry: .afterUserAction, causes: [cause])
        }
        return ServiceSocket(descriptor, .http(host: host, port: boundPort(descriptor) ?? port))
    }

    private static func boundPort(_ descriptor: Int32) -> Int? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let done = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard done == 0 else { return nil }
        return withUnsafePointer(to: &address) { pointer in
            switch Int32(pointer.pointee.ss_family) {
            case AF_INET:
                pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    Int(UInt16(bigEndian: $0.pointee.sin_port))
                }
            case AF_INET6:
                pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    Int(UInt16(bigEndian: $0.pointee.sin6_port))
                }
            default: nil
            }
        }
    }

    // MARK: systemd

    /// The sockets that systemd has opened for this process (sd_listen_fds(3)): numbers from `first` on, where
    /// `LISTEN_PID` is ours. Sockets of other kinds are left alone.
    ///
    /// Throws `configuration` where another daemon has one of them.
    static func inherited(_ environment: [String: String], from first: Int32 = 3) throws -> [ServiceSocket] {
        guard environment["LISTEN_PID"].flatMap({ Int32($0) }) == getpid(),
            let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), (1...16).contains(count)
        else { return [] }
        return try (first..<(first + count)).compactMap { descriptor in
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            var address = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let done = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
            }
            guard done == 0 else { return nil }
            switch Int32(address.ss_family) {
            case AF_UNIX:
                let path = withUnsafeBytes(of: &address) { bytes in
                    String(
                        decoding: bytes.dropFirst(MemoryLayout<sa_family_t>.size).prefix { $0 != 0 }, as: UTF8.self)
                }
                return ServiceSocket(descriptor, .socket(path: path), lock: try lock(path))
            case AF_INET, AF_INET6:
                // It may be on any address: what speaks to it has to show the token, as on any but loopback.
                return ServiceSocket(
                    descriptor, .http(host: numericHost(&address, length), port: boundPort(descriptor) ?? 0))
            default: return nil
            }
        }
    }

    private static func numericHost(_ address: inout sockaddr_storage, _ length: socklen_t) -> String {
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let done = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getnameinfo($0, length, &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST)
            }
        }
        guard done == 0 else { return "0.0.0.0" }
        return String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// Tells systemd how the daemon is doing (sd_notify(3)), where systemd has asked for it.
struct ServiceNotifier: Sendable {
    private let path: String?

    init(_ environment: [String: String]) { path = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 } }

    func tell(_ state: String) {
        guard let path, path.hasPrefix("/") || path.hasPrefix("@"), path.utf8.count < 108 else { return }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var name = Array(path.utf8)
        // An abstract name begins with a zero.
        if path.hasPrefix("@") { name[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count + (path.hasPrefix("@") ? 0 : 1))
        let bytes = Array(state.utf8)
        _ = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, length)
            }
        }
    }
}
