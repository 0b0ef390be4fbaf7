import CastBackend
import Pacing
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers

/// A simulated Cast device on a real socket.
struct CastHarness: BackendHarness {
    let receiver: SimulatedCastReceiver
    let clock: any HostClock = SystemHostClock()
    let tunes: Tunes
    let provider: any RouteProvider
    let endpoint: Endpoint
    var media: any MediaPreparing { tunes.media }

    init() async throws {
        tunes = try Tunes()
        receiver = try SimulatedCastReceiver(
            SimulatedCastConfiguration(name: "Lounge", port: 0, httpPort: nil))
        let port = try await receiver.start().port
        provider = CastProvider(clock: clock, pacer: try Pacer())
        endpoint = try provider.endpoint(from: DeviceURI("cast://127.0.0.1:\(port)?name=Lounge"))
    }

    func stop() async {
        await receiver.stop()
        await tunes.stop()
    }

    func tune(seconds: Double) async throws -> MediaSource { try tunes.tune(seconds: seconds) }
    func noise() async throws -> MediaSource { try tunes.noise() }

    func device() async throws -> DeviceView {
        let record = await receiver.record()
        return DeviceView(isPlaying: record.playerState == "PLAYING", volume: record.level, connections: nil)
    }

    func turnKnob(to level: VolumePosition) async throws -> Bool {
        await receiver.someoneTurnsVolume(to: level.value)
        return true
    }

    func pressPause() async throws -> Bool {
        await receiver.someonePresses(play: false)
        return true
    }

    func loseConnection() async throws { await receiver.dropConnections() }
}
