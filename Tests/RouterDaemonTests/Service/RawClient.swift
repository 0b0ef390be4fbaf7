import Foundation
import Glibc

/// A bare HTTP client over TCP on loopback: what is sent and what comes back, byte by byte.
struct RawClient: Sendable {
    struct Answer: Sendable {
        var status: Int
        /// Names in lower case.
        var fields: [String: String]
        var body: String
    }

    struct Failed: Error { var what: String }

    let port: Int

    /// Sends a request as it stands, but for what every request needs, and reads one answer.
    func send(
        _ method: String, _ path: String, _ fields: [String: String] = [:], body: String? = nil
    ) async throws -> Answer {
        var all = ["Host": "127.0.0.1:\(port)", "Connection": "close"]
        if let body {
            all["Content-Length"] = String(body.utf8.count)
            all["Content-Type"] = "application/json"
        }
        all.merge(fields) { _, given in given }
        let head = "\(method) \(path) HTTP/1.1\r\n" + all.map { "\($0.key): \($0.value)\r\n" }.joined() + "\r\n"
        return try Self.parsed(try await exchange(Array((head + (body ?? "")).utf8)))
    }

    /// Everything that comes back until the other side closes, or nothing more has come for a while.
    func exchange(_ request: [UInt8]) async throws -> [UInt8] {
        try await onThread {
            let socket = try connected()
            defer { close(socket) }
            // What is refused early may not be taken to its end.
            var sent = 0
            while sent < request.count {
                let count = request[sent...].withUnsafeBytes {
                    Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                if count <= 0 { break }
                sent += count
            }
            return try Self.read(socket) { _ in false }
        }
    }

    /// A connection that the daemon has taken, as its answer to a first request shows: those that only wait to be taken
    /// may be overtaken.
    func held() async throws -> Int32 {
        let request = Array("GET /api/v1/rooms HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        return try await onThread {
            let socket = try connected()
            _ = Glibc.send(socket, request, request.count, Int32(MSG_NOSIGNAL))
            let answer = try Self.read(socket) { String(decoding: $0, as: UTF8.self).contains("\r\n\r\n") }
            guard !answer.isEmpty else { throw Failed(what: "not taken") }
            return socket
        }
    }

    /// Reads from a stream until `enough` says so.
    func stream(
        _ path: String, _ fields: [String: String] = [:], until enough: @escaping @Sendable (String) -> Bool
    ) async throws -> String {
        let extra = fields.map { "\($0.key): \($0.value)\r\n" }.joined()
        let request = Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(extra)\r\n".utf8)
        return try await onThread {
            let socket = try connected()
            defer { close(socket) }
            _ = Glibc.send(socket, request, request.count, Int32(MSG_NOSIGNAL))
            return String(
                decoding: try Self.read(socket) { enough(String(decoding: $0, as: UTF8.self)) }, as: UTF8.self)
        }
    }

    func connected(receiveBuffer: Int32? = nil) throws -> Int32 {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw Failed(what: "socket") }
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        if var receiveBuffer {
            setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        let done = withUnsafePointer(to: &address) {
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

    func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }

    private static func read(_ socket: Int32, until enough: ([UInt8]) -> Bool) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while !enough(bytes) {
            let count = recv(socket, &chunk, chunk.count, 0)
            if count == 0 { break }
            if count < 0 {
                // The other side may reset what it does not want to read.
                guard errno == ECONNRESET else { throw Failed(what: "recv \(errno) after \(bytes.count)") }
                break
            }
            bytes += chunk[..<count]
        }
        return bytes
    }

    static func parsed(_ bytes: [UInt8]) throws -> Answer {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let cut = text.range(of: "\r\n\r\n") else { throw Failed(what: "no head in \(bytes.count) bytes") }
        let lines = text[..<cut.lowerBound].components(separatedBy: "\r\n")
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            fields[parts[0].lowercased()] = parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
        }
        let words = lines[0].split(separator: " ")
        guard words.count > 1, let status = Int(words[1]) else { throw Failed(what: lines[0]) }
        return Answer(status: status, fields: fields, body: String(text[cut.upperBound...]))
    }
}
