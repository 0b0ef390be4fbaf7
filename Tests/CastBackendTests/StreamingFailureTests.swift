import CastBackend
import Foundation
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Synchronization
import Testing

/// What a stream does where the device, the network or a person is not as one would like.
@Suite("Cast Streaming where things are otherwise", .timeLimit(.minutes(5)))
struct StreamingFailureTests {
    private static let audioApp = "85CDB22F"
    private static let videoApp = "0F5096E8"

    private func launches(_ device: Streaming.Device) async -> [String] {
        await device.receiver.record().events("launch").compactMap { $0["app"]?.string }
    }

    private func isHeard(_ device: Streaming.Device, frames: Int = 24_000) async -> Bool {
        await eventually { await device.receiver.streamingRecord().heardFrames >= frames }
    }

    @Test("R5 a device without the app for sound is streamed to by the other one: it says so, or refuses the launch")
    func fallback() async throws {
        try await Streaming.withDevices(
            2,
            configure: { number, configuration in
                if number == 0 {
                    configuration.apps.removeAll { $0.id == Self.audioApp }
                } else {
                    configuration.faults.launchError = "NOT_FOUND"
                    configuration.faults.launchErrorApp = Self.audioApp
                }
            }
        ) { devices in
            try await Streaming.withFeed(seconds: 2) { feed in
                _ = try await Streaming.play(feed, on: devices)
                for device in devices { #expect(await isHeard(device)) }
            }
            #expect(await launches(devices[0]) == [Self.videoApp])
            #expect(await launches(devices[1]) == [Self.audioApp, Self.videoApp])
        }
    }

    @Test("R5 a device that has neither app is told in words, and no app is left there")
    func noApp() async throws {
        let error = await #expect(throws: RouterError.self) {
            try await Streaming.withDevices(configure: { $1.apps.removeAll { $0.role == .other } }) { _ in }
        }
        #expect(error?.code == .unsupported && error?.hint?.contains("--via cast") == true)
    }

    @Test("R5 opening displaces nobody: what is in use goes when something is played")
    func deferredLaunch() async throws {
        let phases = Mutex<[String]>([])
        try await Streaming.withDevices(
            options: OpenOptions(phase: { phase in phases.withLock { $0.append(phase) } }),
            prepare: { receiver in
                await receiver.anotherAppTakesOver(name: "YouTube")
                #expect(await eventually { await receiver.record().words.contains("takenOver") })
            }
        ) { devices in
            #expect(phases.withLock { $0 }.contains("YouTube is in use"))
            #expect(await launches(devices[0]).isEmpty)
            #expect(await devices[0].receiver.streamingRecord().sessions == 0)
            try await Streaming.withFeed(seconds: 2) { feed in
                _ = try await Streaming.play(feed, on: devices)
                #expect(await isHeard(devices[0]))
                #expect(await launches(devices[0]) == [Self.audioApp])
            }
        }
    }

    @Test(
        "R5 sound is encrypted, but for devices of which a person says that they need it plain",
        arguments: [true, false])
    func encryption(encrypted: Bool) async throws {
        try await Streaming.withDevices(query: encrypted ? "" : "&unencrypted=1") { devices in
            try await Streaming.withFeed(seconds: 2) { feed in
                _ = try await Streaming.play(feed, on: devices)
                #expect(await isHeard(devices[0]))
            }
            let started = await devices[0].receiver.record().events("streamStarted")
            #expect(started.map { $0["streams"]?.array?.first?["encrypted"]?.bool } == [encrypted])
            let record = await devices[0].receiver.streamingRecord()
            #expect(record.audio.undecodableFrames == 0 && record.audio.frames > 0)
        }
    }

    @Test("R5 a pause keeps the stream, however long: it goes on in time and in the same stream")
    func longPause() async throws {
        // A receiver takes a sender that is silent for 15 s for gone.
        let pause: Int64 = Streaming.isLong ? 17_000_000_000 : 2_500_000_000
        try await Streaming.withDevices { devices in
            let (session, receiver) = (devices[0].session, devices[0].receiver)
            try await Streaming.withFeed(seconds: 4) { feed in
                _ = try await Streaming.play(feed, on: devices)
                #expect(await isHeard(devices[0], frames: 48_000))
                #expect(try await session.perform(.pause) == .succeeded)
                let before = await receiver.streamingRecord().audio
                try await Streaming.clock.sleep(nanoseconds: pause)
                let after = await receiver.streamingRecord()
                #expect(after.isRunning && after.endings.isEmpty)
                #expect(after.audio.frames >= before.frames + 2 && after.audio.senderReports > before.senderReports)
                let timeline = Timeline(
                    hostNanoseconds: Streaming.clock.now() + 900_000_000, mediaTime: MediaTime(seconds: 2))
                #expect(try await session.perform(.play(timeline, fromFrame: 88_200)) == .succeeded)
                #expect(await devices[0].isFinished())
                let record = await receiver.streamingRecord()
                #expect(record.sessions == 1 && record.audio.missedFrames == 0)
                let resumed = try Streaming.lateness(record, timeline).suffix(1)
                #expect(!resumed.isEmpty && resumed.allSatisfy { abs($0) < 1_000_000 })
            }
        }
    }

    @Test("R5 a device that reports nothing, or has closed its port, is lost and named; nothing waits for it for ever")
    func silence() async throws {
        try await Streaming.withDevices(
            2,
            configure: { number, configuration in
                if number == 0 {
                    configuration.faults.streaming.isSilent = true
                } else {
                    configuration.faults.streaming.portIsClosed = true
                }
            }
        ) { devices in
            try await Streaming.withFeed(seconds: 40) { feed in
                _ = try await Streaming.play(feed, on: devices)
                for device in devices {
                    let error = await device.loss()
                    #expect(error?.code == .routeLost, "\(String(describing: error))")
                    #expect(error?.hint?.contains("UDP") == true)
                    await #expect(throws: RouterError.self) { try await device.session.perform(.pause) }
                }
            }
        }
    }

    @Test("R5 an offer that is never answered ends in words")
    func unanswered() async throws {
        let error = await #expect(throws: RouterError.self) {
            try await Streaming.withDevices(configure: { $1.faults.streaming.neverAnswers = true }) { _ in }
        }
        #expect(error?.code == .timeout && error?.message.contains("did not answer the offer") == true)
    }

    /// An offer holds the keys of the sound.
    @Test(
        "C21 R5 a device whose identity does not hold is offered nothing, and no app is launched there",
        arguments: [SimulatedCastConfiguration.AuthenticationMode.untrusted, .wrongNonce, .silent])
    func identity(mode: SimulatedCastConfiguration.AuthenticationMode) async throws {
        var asked: SimulatedCastReceiver?
        let root = try CastTestAuthority.ofProcess().rootPEM
        let policy = CastIdentityPolicy(
            mode: .require, roots: try CastIdentityPolicy.certificates(Array(root.utf8), path: "root"), pins: NoPins())
        let error = await #expect(throws: RouterError.self) {
            try await Streaming.withDevices(
                identity: policy, configure: { $1.authentication = mode }, prepare: { asked = $0 }
            ) { _ in }
        }
        #expect(error?.code == .authFailed)
        let receiver = try #require(asked)
        let words = Set(await receiver.record().words)
        #expect(words.contains("connected"))
        #expect(words.isDisjoint(with: ["launch", "streamStarted", "offerRefused", "offerIgnored"]))
        #expect(await receiver.streamingRecord().sessions == 0)
    }

    @Test("C21 R5 a device whose identity holds is streamed to")
    func identityHolds() async throws {
        let root = try CastTestAuthority.ofProcess().rootPEM
        let policy = CastIdentityPolicy(
            mode: .require, roots: try CastIdentityPolicy.certificates(Array(root.utf8), path: "root"), pins: NoPins())
        try await Streaming.withDevices(identity: policy) { devices in
            try await Streaming.withFeed(seconds: 2) { feed in
                _ = try await Streaming.play(feed, on: devices)
                #expect(await isHeard(devices[0]))
            }
        }
    }
}

private struct NoPins: CastPinStoring {
    func pin(of device: String) -> String? { nil }
    func savePin(_ fingerprint: String, of device: String) {}
}
