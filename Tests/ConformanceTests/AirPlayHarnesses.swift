import AirPlay
import AirPlayBackend
import Pacing
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers

/// What both kinds of speaker have in common.
private enum Speaker {
    /// Whether sound comes out, by how much of it there was a moment ago.
    static func isPlaying(_ rendered: () async -> Int) async throws -> Bool {
        let before = await rendered()
        try await SystemHostClock().sleep(nanoseconds: 250_000_000)
        return await rendered() > before
    }

    /// As the slider has it.
    static func volume(_ told: [Double]) -> Double? {
        told.last.map { VolumeCurve.airplay.position(deviceValue: $0).position.value }
    }
}

/// A simulated AirPlay 1 speaker on real sockets.
struct RAOPHarness: BackendHarness {
    let receiver: SimulatedRAOPReceiver
    let clock: any HostClock = SystemHostClock()
    let tunes: Tunes
    let provider: any RouteProvider
    let endpoint: Endpoint
    var media: any MediaPreparing { tunes.media }

    init() async throws {
        tunes = try Tunes()
        receiver = SimulatedRAOPReceiver(SimulatedRAOPConfiguration(name: "Kitchen", port: 0))
        let port = try await receiver.start()
        provider = AirPlayProvider(clock: clock, pacer: try Pacer())
        let record = receiver.txtRecord
        let told = ["cn", "et", "md", "sf", "pw"].compactMap { key in record[key].map { "\(key)=\($0)" } }
        endpoint = try provider.endpoint(
            from: DeviceURI("raop://127.0.0.1:\(port)?name=Kitchen&\(told.joined(separator: "&"))"))
    }

    func stop() async {
        await receiver.stop()
        await tunes.stop()
    }

    func tune(seconds: Double) async throws -> MediaSource { try tunes.tune(seconds: seconds) }
    func noise() async throws -> MediaSource { try tunes.noise() }

    func device() async throws -> DeviceView {
        DeviceView(
            isPlaying: try await Speaker.isPlaying { await receiver.record().renderedFrames },
            volume: Speaker.volume(await receiver.record().volumes), connections: nil)
    }

    /// Its knob and its buttons speak by a way of their own (DACP), which has its own tests.
    func turnKnob(to level: VolumePosition) async throws -> Bool { false }
    func pressPause() async throws -> Bool { false }

    func loseConnection() async throws { await receiver.dropConnections() }
}

/// A simulated AirPlay 2 speaker on real sockets.
struct AirPlay2Harness: BackendHarness {
    let receiver: SimulatedAirPlay2Receiver
    let clock: any HostClock = SystemHostClock()
    let tunes: Tunes
    let provider: any RouteProvider
    let endpoint: Endpoint
    var media: any MediaPreparing { tunes.media }

    init() async throws {
        tunes = try Tunes()
        var configuration = SimulatedAirPlay2Configuration(name: "Den", port: 0)
        // Above 1023, so that nobody needs to be privileged; each has its own.
        let event = UInt16.random(in: 10_000...15_000) * 2
        configuration.ptpPorts = PTPPorts(event: event, general: event + 1)
        receiver = SimulatedAirPlay2Receiver(configuration)
        let port = try await receiver.start()
        provider = AirPlayProvider(clock: clock, pacer: try Pacer(), clockPorts: configuration.ptpPorts)
        let record = await receiver.airPlayRecord
        let told = ["features", "flags", "deviceid"].compactMap { key in record[key].map { "\(key)=\($0)" } }
        endpoint = try provider.endpoint(
            from: DeviceURI("airplay://127.0.0.1:\(port)?name=Den&\(told.joined(separator: "&"))"))
    }

    func stop() async {
        await receiver.stop()
        await tunes.stop()
    }

    func tune(seconds: Double) async throws -> MediaSource { try tunes.tune(seconds: seconds) }
    func noise() async throws -> MediaSource { try tunes.noise() }

    func device() async throws -> DeviceView {
        DeviceView(
            isPlaying: try await Speaker.isPlaying { await receiver.record().renderedFrames },
            volume: Speaker.volume(await receiver.record().volumes), connections: nil)
    }

    /// Some devices are asked how loud they are from time to time; this one tells nobody.
    func turnKnob(to level: VolumePosition) async throws -> Bool { false }

    func pressPause() async throws -> Bool { await receiver.press(.pause) }

    func loseConnection() async throws { await receiver.dropConnections() }
}
