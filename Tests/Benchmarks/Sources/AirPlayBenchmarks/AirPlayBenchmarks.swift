import AirPlay
import Foundation
import HomeKitPairing
import SimulatedReceivers
import Synchronization

/// What pairing_bench.py runs: prints one line of JSON.
@main
enum AirPlayBenchmarks {
    static let count = 40

    static func main() async throws {
        guard Array(CommandLine.arguments.dropFirst()) == ["pairing"] else {
            FileHandle.standardError.write(Data("usage: AirPlayBenchmarks pairing\n".utf8))
            exit(64)
        }
        let us = ControllerIdentity(identifier: UUID().uuidString, signingKey: .random())
        let pin = "3141"
        let setup = Device(.code(.fixed(pin)))
        let client = PairingClient { try setup.answer($0) }
        let credentials = try await client.finishPIN(client.beginPIN(us), pin: pin).credentials
        guard let credentials else { throw PairingError.impossibleCode }
        let figures = [
            try await measure("transient SRP", .everybody) { _ = try await $0.transient() },
            try await measure("pair-verify", .code(.fixed(pin)), book: setup.book) {
                _ = try await $0.verify(credentials)
            },
            try await measure("pair-setup with a PIN", .code(.fixed(pin))) {
                _ = try await $0.finishPIN($0.beginPIN(us), pin: pin)
            },
        ]
        print("{\(figures.joined(separator: ","))}")
    }

    /// Milliseconds of one pairing with a device that begins anew, its own time left out.
    static func measure(
        _ name: String, _ policy: PairingServerPolicy, book: PairingServerBook = PairingServerBook(name: "Bench"),
        _ pair: @Sendable (PairingClient) async throws -> Void
    ) async throws -> String {
        var times: [Double] = []
        for round in 0..<(count + 1) {
            let device = Device(policy, book: book)
            let began = Device.now()
            try await pair(PairingClient { try device.answer($0) })
            let taken = Device.now() - began - device.spent
            // The first one pays for what is made only once.
            if round > 0 { times.append(Double(taken) / 1e6) }
        }
        times.sort()
        return
            #""\#(name)":{"median":\#(times[times.count / 2]),"least":\#(times[0]),"most":\#(times[times.count - 1])}"#
    }
}

/// A receiver that can be paired with, in this process; counts the time that it takes itself.
final class Device: Sendable {
    private struct State: Sendable {
        var server: PairingServer
        var book: PairingServerBook
        var spent: Int64 = 0
    }

    private let state: Mutex<State>

    init(_ policy: PairingServerPolicy, book: PairingServerBook = PairingServerBook(name: "Bench")) {
        state = Mutex(State(server: PairingServer(policy), book: book))
    }

    var book: PairingServerBook { state.withLock { $0.book } }
    var spent: Int64 { state.withLock { $0.spent } }

    func answer(_ request: PairingRequest) throws -> PairingAnswer {
        try state.withLock { state in
            let began = Self.now()
            defer { state.spent += Self.now() - began }
            var headers: RTSPHeaders = [:]
            headers["X-Apple-HKP"] = request.hkp.map(String.init)
            var body: [UInt8] = []
            if case .octets(let octets) = request.body { body = octets }
            let answer = state.server.answer(
                path: request.path, headers: headers, body: body, in: &state.book, at: began)
            return PairingAnswer(status: answer.status, body: answer.body.isEmpty ? .none : .octets(answer.body))
        }
    }

    static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
