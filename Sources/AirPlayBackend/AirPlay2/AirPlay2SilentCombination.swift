import AirPlay
import RouteModel

/// Ways of playing to which some makers' devices answer 200 and make no sound. Pure
/// (`Protocols/airplay/README.md`, “Proof of playing”).
enum AirPlay2SilentCombination {
    /// A sentence for people; nil where nothing of the kind is known.
    static func sentence(_ format: AirPlayAudioFormat, _ way: AirPlay2Way, endpoint: Endpoint) -> String? {
        let maker = (endpoint.facts["manufacturer"] ?? "").lowercased()
        let model = (endpoint.model ?? "").lowercased()
        func isBy(_ name: String) -> Bool { maker.contains(name) || model.contains(name) }
        if isBy("sonos"), format.sampleRate == 48_000, format.bitDepth == 24 {
            return "\(endpoint.name) takes 48 kHz with 24 bits and is known to stay silent with it"
        }
        if isBy("samsung"), way.record == .after {
            return "\(endpoint.name) is known to stay silent where it is started after its stream (record=after)"
        }
        return nil
    }
}
