import CastBackend
import Foundation
import PeerSupport
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Testing

/// Against our own simulated device, which does on demand what no peer does: faults, takeovers, odd TLS records.
@Suite(.enabled(if: PeerProgram.absence == nil, "\(PeerProgram.absence ?? "")"), .timeLimit(.minutes(2)))
struct SimulatedReceiverTests {
    /// A device, a session on it and a file of sound that is served.
    private func withDevice(
        _ configure: (inout SimulatedCastConfiguration) -> Void = { _ in },
        before: (SimulatedCastReceiver) async throws -> Void = { _ in },
        _ body: (SimulatedCastReceiver, any RouteSession, Watch, String) async throws -> Void
    ) async throws {
        var configuration = SimulatedCastConfiguration(name: "Kitchen", port: 0, httpPort: nil)
        configure(&configuration)
        let device = try SimulatedCastReceiver(configuration)
        let port = try await device.start().port
        let file = try SoundFile(seconds: 30)
        let server = try PeerProgram("range_file_server.py", [file.path, "audio/x-wav"])
        let mediaPort = try await server.start()
        try await before(device)
        let provider = CastProvider()
        let endpoint = try provider.endpoint(from: DeviceURI("cast://127.0.0.1:\(port)?name=Kitchen"))
        let session = try await provider.open(endpoint, options: OpenOptions())
        do {
            try await body(device, session, Watch(session), "http://127.0.0.1:\(mediaPort)/media")
        } catch {
            await session.end(.stop)
            throw error
        }
        await session.end(.stop)
        await server.stop()
        withExtendedLifetime(file) {}
        await device.stop()
    }

    private func item(_ url: String, start: Double = 0) -> PreparedMedia {
        .pull(
            PullMedia(
                token: .random(), url: url, contentType: "audio/x-wav", live: false,
                metadata: MediaMetadata(kind: .music, title: "Tone"), start: MediaTime(seconds: start)))
    }

    @Test(
        "C3 C8 C17 plays on every kind of device, whatever the TLS records",
        arguments: [
            (SimulatedCastConfiguration.LaunchStyle.classic, SimulatedCastConfiguration.RecordStyle.separate),
            (.launchStatus, .joined), (.classic, .split), (.launchStatus, .split), (.classic, .joined),
        ])
    func plays(
        launch: SimulatedCastConfiguration.LaunchStyle, records: SimulatedCastConfiguration.RecordStyle
    ) async throws {
        try await withDevice {
            $0.launchStyle = launch
            $0.recordStyle = records
            $0.idleApp = records == .split ? .none : .backdrop
        } _: { device, session, watch, url in
            try await session.load(item(url, start: 5), timeline: nil, autoplay: true)
            #expect(await eventually { await watch.last?.media == .playing })
            #expect((await watch.last?.position?.time.seconds ?? 0) >= 5)
            #expect(try await session.perform(.pause) == .succeeded)
            #expect(await eventually { await watch.last?.media == .paused })
            #expect(try await session.perform(.seek(to: MediaTime(seconds: 20), resume: true)) == .succeeded)
            #expect(await eventually { await watch.last?.media == .playing })
            try await session.setVolume(VolumeState(level: VolumePosition(0.3)))
            #expect(await device.record().level == 0.3)
            #expect(try await session.perform(.stop) == .succeeded)
            #expect(await eventually { await watch.last?.stopReason == .cancelled })
            #expect(await device.record().loads.map(\.url) == [url])
        }
    }

    @Test("C17 the knob of the device, and its remote control, are seen") func fromTheDevice() async throws {
        try await withDevice { device, session, watch, url in
            try await session.load(item(url), timeline: nil, autoplay: true)
            await device.someoneTurnsVolume(to: 0.75)
            #expect(await eventually { await watch.last?.volume?.level == VolumePosition(0.75) })
            await device.someonePresses(play: false)
            #expect(await eventually { await watch.last?.media == .paused })
            await device.someonePresses(play: true)
            #expect(await eventually { await watch.last?.media == .playing })
        }
    }

    @Test("the same item again is another item: the end of the first is not the end of the second")
    func again() async throws {
        try await withDevice { device, session, watch, url in
            try await session.load(item(url), timeline: nil, autoplay: true)
            try await session.load(item(url), timeline: nil, autoplay: true)
            #expect(await watch.last?.stopReason == nil)
            #expect(await eventually { await watch.last?.media == .playing })
            #expect(await !watch.all.contains { $0.stopReason == .finished || $0.stopReason == .replaced })
            #expect(await device.record().loads.count == 2)
        }
    }

    @Test("C6 another session of ours takes over: what plays is stopped, and the app stays for it")
    func replaced() async throws {
        try await withDevice { device, session, watch, url in
            try await session.load(item(url), timeline: nil, autoplay: true)
            #expect(await device.record().playerState == "PLAYING")
            await session.end(.replaced)
            #expect(await device.record().playerState == "IDLE")
        }
    }

    @Test(
        "C6 a load that is under way is ended with its session, the first one as well as one in place of another",
        arguments: [EndReason.stop, .replaced], [false, true])
    func loadEnds(reason: EndReason, isSecond: Bool) async throws {
        try await withDevice {
            $0.faults.answerDelay = .milliseconds(100)
        } _: { device, session, watch, url in
            if isSecond { try await session.load(item(url), timeline: nil, autoplay: true) }
            async let load: Void = session.load(item(url, start: 1), timeline: nil, autoplay: true)
            #expect(await eventually { await watch.last?.media == .loading })
            await session.end(reason)
            _ = try? await load
            let count = isSecond ? 2 : 1
            #expect(await eventually { await device.record().loads.count == count })
            #expect(await eventually { await device.record().playerState == nil })
        }
    }

    @Test("C6 another app takes the device: ended, superseded, by whom") func takeover() async throws {
        try await withDevice { device, session, watch, url in
            try await session.load(item(url), timeline: nil, autoplay: true)
            await device.anotherAppTakesOver(name: "YouTube")
            #expect(await eventually { await watch.last?.connection == .ended })
            #expect(await watch.last?.stopReason == .superseded)
            #expect(await watch.last?.foreign == "YouTube")
        }
    }

    @Test("another app in use is displaced by the first load, not by opening") func launchesLate() async throws {
        try await withDevice {
            $0.launchStyle = .launchStatus
        } before: {
            await $0.anotherAppTakesOver(name: "YouTube")
        } _: { device, session, watch, url in
            #expect(!session.descriptor.joined)
            #expect(await eventually { await watch.last?.foreign == "YouTube" })
            try await session.load(item(url), timeline: nil, autoplay: true)
            #expect(await eventually { await watch.last?.media == .playing })
            #expect(await watch.last?.foreign == nil)
        }
    }

    @Test("the app dies: the session has ended, and nothing hangs") func crash() async throws {
        try await withDevice { device, session, watch, url in
            try await session.load(item(url), timeline: nil, autoplay: true)
            await device.appCrashes()
            #expect(await eventually { await watch.last?.connection == .ended })
        }
    }

    @Test("C5 the connection drops: failed, with an error, and nothing is retried") func drop() async throws {
        try await withDevice { device, session, watch, url in
            try await session.load(item(url), timeline: nil, autoplay: true)
            await device.dropConnections()
            #expect(await eventually { await watch.last?.connection == .failed })
            #expect(await watch.last?.error?.code == .routeLost)
            #expect(await watch.last?.stopReason == .deviceGone)
            let error = await #expect(throws: RouterError.self) { try await session.perform(.pause) }
            #expect(error?.code == .routeLost)
        }
    }

    @Test(
        "C21 what the device refuses is told in words",
        arguments: [
            (104, RouterError.Code.mediaUnsupported), (301, .mediaUnreachable), (905, .itemFailed),
        ])
    func loadFails(code: Int, expected: RouterError.Code) async throws {
        try await withDevice {
            $0.faults.loadFails = code
        } _: { _, session, watch, url in
            let error = await #expect(throws: RouterError.self) {
                try await session.load(item(url), timeline: nil, autoplay: true)
            }
            #expect(error?.code == expected)
            #expect(error?.message.contains("code \(code)") == true)
            #expect(await eventually { await watch.last?.stopReason == .error })
            #expect(await watch.last?.connection == .connected)
        }
    }

    @Test("C21 a name without an address is an unreachable route") func unknownName() async throws {
        let provider = CastProvider()
        // Too long a label for any DNS server to be asked.
        let host = String(repeating: "x", count: 64) + ".invalid"
        let endpoint = try provider.endpoint(from: DeviceURI("cast://\(host)"))
        let error = await #expect(throws: RouterError.self) {
            try await provider.open(endpoint, options: OpenOptions())
        }
        #expect(error?.code == .routeUnreachable)
        #expect(error?.code.exitStatus == 5)
    }

    @Test("C21 a route given up after a failed load leaves no app of ours on the screen")
    func failedLoadLeavesNothing() async throws {
        try await withDevice {
            $0.faults.loadFails = 905
        } _: { device, session, _, url in
            await #expect(throws: RouterError.self) {
                try await session.load(item(url), timeline: nil, autoplay: true)
            }
            #expect(await device.record().playerState != nil)
            await session.end(.lost)
            #expect(await eventually { await device.record().playerState == nil })
        }
    }

    @Test(
        "C21 opening what cannot be opened",
        arguments: [
            "refuses", "length 0", "length 4 GiB", "launch error", "drops at 1", "drops at 3", "dies after launch",
        ])
    func openingFails(fault: String) async throws {
        var configuration = SimulatedCastConfiguration(name: "Kitchen", port: 0, httpPort: nil)
        var codes: [RouterError.Code] = [.routeUnreachable]
        switch fault {
        case "refuses": configuration.faults.refusesConnections = true
        case "length 0": configuration.faults.firstFrameLength = 0
        case "length 4 GiB": configuration.faults.firstFrameLength = .max
        case "launch error": configuration.faults.launchError = "NOT_ALLOWED"
        case "drops at 1": configuration.faults.dropsConnectionAtMessage = 1
        case "drops at 3": configuration.faults.dropsConnectionAtMessage = 3
        default: configuration.faults.closesAfterLaunch = true
        }
        if fault.hasPrefix("length") { codes = [.protocolViolation] }
        if fault == "launch error" { codes = [.routeBusy] }
        let device = try SimulatedCastReceiver(configuration)
        let port = try await device.start().port
        let provider = CastProvider()
        let endpoint = try provider.endpoint(from: DeviceURI("cast://127.0.0.1:\(port)?name=Kitchen"))
        if fault == "dies after launch" {
            // It came up: what it says after that is news of the session.
            let session = try await provider.open(endpoint, options: OpenOptions())
            let watch = Watch(session)
            #expect(await eventually { await watch.last?.connection == .ended })
            let error = await #expect(throws: RouterError.self) {
                try await session.load(item("http://127.0.0.1:9/"), timeline: nil, autoplay: true)
            }
            #expect(error?.code == .commandSuperseded)
            await session.end(.stop)
        } else {
            let error = await #expect(throws: RouterError.self) {
                try await provider.open(endpoint, options: OpenOptions())
            }
            #expect(error.map { codes.contains($0.code) } == true, "\(String(describing: error))")
            #expect(error?.hint != nil)
        }
        await device.stop()
    }
}

/// Silence that is long enough to do things with, as WAV, for as long as it is held.
final class SoundFile: Sendable {
    let path: String

    init(seconds: Int) throws {
        let frames = seconds * 8000
        var data = Data("RIFF".utf8)
        func append(_ value: UInt32) {
            data.append(contentsOf: (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) })
        }
        func append(_ value: UInt16) { data.append(contentsOf: [UInt8(truncatingIfNeeded: value), UInt8(value >> 8)]) }
        append(UInt32(36 + frames * 2))
        data.append(contentsOf: Array("WAVEfmt ".utf8))
        append(UInt32(16))
        append(UInt16(1))
        append(UInt16(1))
        append(UInt32(8000))
        append(UInt32(16_000))
        append(UInt16(2))
        append(UInt16(16))
        data.append(contentsOf: Array("data".utf8))
        append(UInt32(frames * 2))
        data.append(Data(count: frames * 2))
        let url = FileManager.default.temporaryDirectory.appending(path: "cast-\(UUID().uuidString).wav")
        try data.write(to: url)
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
