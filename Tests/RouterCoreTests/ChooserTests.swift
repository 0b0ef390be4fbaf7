import RouteModel
import Testing

@testable import RouterCore

@Suite("Which endpoint of a device is chosen")
struct ChooserTests {
    static func endpoint(_ kind: RouteProtocol) -> Endpoint {
        Endpoint(
            id: EndpointID(rawValue: "\(kind)"), protocol: kind, name: "TV", host: "10.0.0.9", port: 8009,
            origin: .discovered,
            capabilities: RouteCapabilities(
                available: kind == .cast ? [.playURL, .video] : [.playAudioStream],
                sync: kind == .cast ? .loose : .tight))
    }

    static func route(_ kinds: [RouteProtocol]) -> Route {
        Route(
            id: RouteID(rawValue: kinds.map(\.rawValue).joined()), name: "TV", kind: .device, deviceType: .tv,
            endpoints: kinds.map(endpoint), presence: .present, access: .open, capabilities: RouteCapabilities())
    }

    static func chosen(
        _ kinds: [RouteProtocol], via: ViaPreference = .auto, with companions: [RouteProtocol] = [],
        video: Bool = false
    ) -> [RouteProtocol] {
        EndpointChooser.choose(
            EndpointChooser.Question(
                route: route(kinds), name: "TV", need: MediaNeed(senderOnly: true, video: video), via: via,
                viaIsCommand: true, companions: companions.map { route([$0]) }, failures: [:])
        ).candidates.filter(\.usable).map(\.endpoint.protocol)
    }

    @Test("R5 a Cast device is streamed to when that is asked for, and never falls back to it unasked")
    func streaming() {
        let both: [RouteProtocol] = [.cast, .castStreaming]
        #expect(Self.chosen(both) == [.cast])
        #expect(Self.chosen(both, via: .cast) == [.cast])
        #expect(Self.chosen(both, via: .castStreaming) == [.castStreaming])
        #expect(Self.chosen(both, with: [.raop]) == [.cast])
        #expect(Self.chosen(both, with: [.raop], video: true) == [.cast])
        #expect(Self.chosen([.raop] + both) == [.raop, .cast])
        #expect(Self.chosen([.raop] + both, via: .castStreaming) == [.castStreaming])
        // Named so by a person, or without another way.
        #expect(Self.chosen([.castStreaming]) == [.castStreaming])
        #expect(Self.chosen([.castStreaming], via: .cast) == [.castStreaming])
    }
}
