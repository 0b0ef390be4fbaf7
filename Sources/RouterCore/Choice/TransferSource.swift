import RouteModel

/// What a transfer begins with, and what the new rooms would do without. Pure.
struct TransferSource: Sendable {
    /// What plays.
    var item: MediaSource
    /// False: what it shows is not to be seen on receivers (A6).
    var withPicture = true
    var rooms: [String]
    var routes: Set<RouteID>
    /// What it plays by.
    var endpoints: [Endpoint]
    /// Whether a text track is shown.
    var showsText: Bool
    var rate: Double

    /// What these endpoints cannot do and the present ones could, in words; each once.
    func losses(by targets: [RouteChoice.Candidate]) -> [String] {
        let new = targets.map(\.endpoint)
        var losses: [String] = []
        func lose(_ capability: RouteCapability, _ words: String) {
            let had = !endpoints.isEmpty && endpoints.allSatisfy { $0.capabilities.has(capability) }
            if had, new.contains(where: { !$0.capabilities.has(capability) }) { losses.append(words) }
        }
        if showsText, new.contains(where: { !$0.capabilities.has(.tracks) || lacksScreen($0) }) {
            losses.append("no subtitles")
        }
        if rate != 1, new.contains(where: { !$0.capabilities.has(.rate) }) { losses.append("normal speed only") }
        if !endpoints.contains(where: lacksScreen), targets.contains(where: { $0.losses.contains("no picture") }) {
            losses.append("no picture")
        }
        lose(.continuesWithoutSender, "stops when this sender stops")
        lose(.gapless, "short gaps between tracks")
        // Alone, a room need not keep in time with anybody.
        if new.count > 1, new.contains(where: { $0.capabilities.sync != .tight }) {
            losses.append("the rooms are held in time loosely")
        }
        return losses
    }

    /// What is lost where these join those that play.
    func losses(besides targets: [RouteChoice.Candidate]) -> [String] {
        var losses = losses(by: targets)
        let loosely = "the rooms are held in time loosely"
        let all = endpoints + targets.map(\.endpoint)
        if !losses.contains(loosely), all.contains(where: { $0.capabilities.sync != .tight }) { losses.append(loosely) }
        return losses
    }

    private func lacksScreen(_ endpoint: Endpoint) -> Bool { endpoint.capabilities[.video] == .unsupported }
}
