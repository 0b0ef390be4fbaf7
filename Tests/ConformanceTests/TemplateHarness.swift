import RouteBackend
import RouteModel
import RouterTestKit
import TemplateBackend

/// The template backend with its null sink.
struct TemplateHarness: BackendHarness {
    let sink = NullSink(name: "Null")
    let clock: any HostClock = SystemHostClock()
    let tunes: Tunes
    let provider: any RouteProvider
    let endpoint: Endpoint
    var media: any MediaPreparing { tunes.media }

    init() throws {
        tunes = try Tunes()
        let provider = NullSinkProvider(sinks: [sink], clock: SystemHostClock())
        endpoint = provider.endpoint(of: sink)
        self.provider = provider
    }

    func stop() async { await tunes.stop() }

    func tune(seconds: Double) async throws -> MediaSource { try tunes.tune(seconds: seconds) }
    func noise() async throws -> MediaSource { try tunes.noise() }

    func device() async throws -> DeviceView {
        let state = sink.state
        return DeviceView(
            isPlaying: state.isPlaying, volume: state.volume.level.value, connections: state.connections)
    }

    func turnKnob(to level: VolumePosition) async throws -> Bool {
        sink.turnKnob(to: level)
        return true
    }

    func pressPause() async throws -> Bool {
        sink.press(.pause)
        return true
    }

    func loseConnection() async throws { await sink.unplug() }
}
