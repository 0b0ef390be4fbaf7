import AirPlay
import Foundation
import HomeKitPairing

/// A connection of the tests to a device on the loopback interface: one request at a time, in either spelling, encrypted
/// once the keys are there.
actor PairingSocket {
    struct Failed: Error, CustomStringConvertible {
        var description: String
    }

    private let descriptor: Int32
    private let version: RTSPVersion
    private var sequence = 0
    private var received: [UInt8] = []
    private var sealed: [UInt8] = []
    private var sealer: FrameSealer?
    private var opener: FrameOpener?

    init(port: Int, version: RTSPVersion) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.version = version
        // A device that never answers must not hold up the tests.
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw Failed(description: "connect: \(errno)") }
    }

    deinit { close(descriptor) }

    nonisolated var client: PairingClient { PairingClient { try await self.send($0) } }

    func send(_ request: PairingRequest) throws -> PairingAnswer {
        PairingAnswer(try perform(request.rtsp(version)), to: request)
    }

    /// The keys of the very next byte.
    func encrypt(_ secret: [UInt8]) throws {
        guard received.isEmpty else { throw Failed(description: "\(received.count) bytes too many before the keys") }
        let keys = ChannelKeys.control(secret)
        sealer = FrameSealer(key: keys.controllerWrites)
        opener = FrameOpener(key: keys.accessoryWrites)
    }

    func perform(_ request: RTSPRequest) throws -> RTSPResponse {
        var request = request
        if version == .rtsp1 {
            sequence += 1
            request.headers["CSeq"] = String(sequence)
        }
        let plain = request.encoded()
        try write(sealer?.seal(plain) ?? plain)
        while true {
            if let (message, used) = try RTSPMessageDecoder().decode(received[...]) {
                received.removeFirst(used)
                guard case .response(let response) = message else { throw Failed(description: "a request came") }
                return response
            }
            try read()
        }
    }

    private func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failed(description: "send: \(errno)") }
            rest = rest.dropFirst(count)
        }
    }

    private func read() throws {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        guard count > 0 else { throw Failed(description: count == 0 ? "closed" : "recv: \(errno)") }
        guard opener != nil else {
            received += bytes.prefix(count)
            return
        }
        sealed += bytes.prefix(count)
        while let (plaintext, used) = try opener?.open(sealed) {
            received += plaintext
            sealed.removeFirst(used)
        }
    }
}
