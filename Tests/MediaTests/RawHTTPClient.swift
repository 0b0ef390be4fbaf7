import Foundation
import Glibc

/// A bare HTTP client: what is sent and what comes back, byte by byte.
struct RawHTTPClient: Sendable {
    struct Answer: Sendable {
        var status: Int
        /// Names in lower case.
        var fields: [String: String]
        var body: [UInt8]

        subscript(name: String) -> String? { fields[name.lowercased()] }
    }

    let port: Int
    var host = "127.0.0.1"
    /// The address to come from; nil leaves it to the system.
    var from: String?

    /// Sends a request and reads one answer, until its length or the end of the connection.
    func get(_ path: String, method: String = "GET", _ fields: [String: String] = [:]) async throws -> Answer {
        var text = "\(method) \(path) HTTP/1.1\r\nHost: test\r\nConnection: close\r\n"
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        return try parse(try await exchange(Array((text + "\r\n").utf8)))
    }

    /// Everything that comes back until the other side closes.
    func exchange(_ request: [UInt8]) async throws -> [UInt8] {
        let client = self
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try client.exchangeNow(request) })
            }
        }
    }

    struct Failed: Error { var what: String }

    func connected() throws -> Int32 {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw Failed(what: "socket") }
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        if let from {
            var own = address(from, 0)
            let bound = withUnsafePointer(to: &own) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard bound == 0 else { throw Failed(what: "bind \(from)") }
        }
        var peer = address(host, port)
        let done = withUnsafePointer(to: &peer) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard done == 0 else {
            close(socket)
            throw Failed(what: "connect \(errno)")
        }
        return socket
    }

    private func address(_ host: String, _ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        inet_pton(AF_INET, host, &address.sin_addr)
        return address
    }

    /// Reads what still comes until the other side closes, and says how many bytes.
    func drained(_ socket: Int32, after first: @escaping @Sendable () -> Void = {}) async -> Int {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var chunk = [UInt8](repeating: 0, count: 1 << 16)
                var total = 0
                while true {
                    let count = recv(socket, &chunk, chunk.count, 0)
                    if count <= 0 { break }
                    if total == 0 { first() }
                    total += count
                }
                continuation.resume(returning: total)
            }
        }
    }

    private func exchangeNow(_ request: [UInt8]) throws -> [UInt8] {
        let socket = try connected()
        defer { close(socket) }
        guard send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw Failed(what: "send")
        }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = recv(socket, &chunk, chunk.count, 0)
            if count == 0 { return bytes }
            if count < 0 { throw Failed(what: "recv \(errno) after \(bytes.count)") }
            bytes += chunk[..<count]
        }
    }

    func parse(_ bytes: [UInt8]) throws -> Answer {
        let end = Array("\r\n\r\n".utf8)
        guard let cut = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) else {
            throw Failed(what: "no head in \(bytes.count) bytes")
        }
        let lines = String(decoding: bytes[..<cut], as: UTF8.self).components(separatedBy: "\r\n")
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        guard let status = Int(lines[0].split(separator: " ")[1]) else { throw Failed(what: lines[0]) }
        return Answer(status: status, fields: fields, body: Array(bytes[(cut + 4)...]))
    }
}
