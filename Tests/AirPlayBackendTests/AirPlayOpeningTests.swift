import AirPlay
import Foundation
import Pacing
import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import AirPlayBackend

@Suite("Opening an AirPlay route that does not come about", .timeLimit(.minutes(1)))
struct AirPlayOpeningTests {
    @Test("A connect that hangs is given up as soon as it is cancelled")
    func cancelledConnect() async throws {
        let deaf = try DeafListener()
        let connecting = Task {
            // Longer than this test may take.
            try await RTSPConnection.connect(
                host: "127.0.0.1", port: deaf.port, password: nil, timeout: .seconds(3600))
        }
        connecting.cancel()
        await #expect(throws: RAOPError.closed) { _ = try await connecting.value }
        deaf.close()
    }

    @Test("An open that is cancelled while it connects says so")
    func cancelledOpen() async throws {
        let deaf = try DeafListener()
        let provider = AirPlayProvider(clock: SystemHostClock(), pacer: try Pacer())
        let endpoint = try provider.endpoint(from: DeviceURI("raop://127.0.0.1:\(deaf.port)?name=Deaf"))
        let phases = AsyncStream.makeStream(of: String.self)
        let opening = Task {
            try await provider.open(endpoint, options: OpenOptions(phase: { phases.continuation.yield($0) }))
        }
        for await _ in phases.stream { break }
        opening.cancel()
        let error = await #expect(throws: RouterError.self) { _ = try await opening.value }
        #expect(error?.code == .cancelled)
        deaf.close()
    }

    @Test("A name without an address is an unreachable route")
    func unknownName() async throws {
        let provider = AirPlayProvider(clock: SystemHostClock(), pacer: try Pacer())
        // Too long a label for any DNS server to be asked.
        let host = String(repeating: "x", count: 64) + ".invalid"
        let endpoint = try provider.endpoint(from: DeviceURI("raop://\(host)"))
        let error = await #expect(throws: RouterError.self) {
            _ = try await provider.open(endpoint, options: OpenOptions())
        }
        #expect(error?.code == .routeUnreachable)
        #expect(error?.code.exitStatus == 5)
    }

    @Test("A connection that closes before there is a session is no lost route")
    func closed() throws {
        let provider = AirPlayProvider(clock: SystemHostClock(), pacer: try Pacer())
        let endpoint = try provider.endpoint(from: DeviceURI("raop://127.0.0.1"))
        #expect(AirPlayErrors.opening(.closed, endpoint: endpoint).code == .routeUnreachable)
        #expect(AirPlayErrors.opening(.busy, endpoint: endpoint).code == .routeBusy)
        #expect(AirPlayErrors.routerError(.closed, endpoint: endpoint).code == .routeLost)
    }
}

/// A port whose queue of connections is full, so that another connect hangs.
private struct DeafListener {
    let port: Int
    private let descriptors: [Int32]

    init() throws {
        func address(_ port: UInt16) -> sockaddr_in {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            return address
        }
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var own = address(0)
        var length = size
        let bound = withUnsafeMutablePointer(to: &own) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 0) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        try #require(bound)
        port = Int(UInt16(bigEndian: own.sin_port))
        var all = [listener]
        for _ in 0..<3 {
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            withUnsafePointer(to: &own) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = connect(client, $0, size) }
            }
            all.append(client)
        }
        descriptors = all
    }

    func close() { for descriptor in descriptors { _ = Foundation.close(descriptor) } }
}
