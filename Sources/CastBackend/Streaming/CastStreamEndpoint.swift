import RouteModel

/// The second way to play on a Cast device: sent a stream, in place of fetching a URL.
enum CastStreamEndpoint {
    /// The streaming side of a device that was found by its record or named by a URI.
    static func companion(of endpoint: Endpoint) -> Endpoint {
        var result = endpoint
        result.id = EndpointID(rawValue: endpoint.id.rawValue + "+stream")
        result.protocol = .castStreaming
        // The delay is measured on each connection, so that it is held in time with others.
        result.capabilities = RouteCapabilities(
            available: [
                .playsSenderOnlyFiles, .playAudioStream, .pause, .seek, .seekRelative, .gapless, .volumeDevice, .mute,
                .groupMember,
            ], sync: .tight)
        return result
    }
}
