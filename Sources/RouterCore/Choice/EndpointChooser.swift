import RouteModel

/// What an item asks of the way it is played.
public struct MediaNeed: Sendable, Hashable {
    /// The media is a file of the sender's: a receiver can have it from us only.
    public var senderOnly: Bool
    /// It has a picture that belongs on a screen.
    public var video: Bool
    /// It is heard as it is made: there is nothing that could be fetched.
    public var live: Bool

    public init(senderOnly: Bool, video: Bool, live: Bool = false) {
        self.senderOnly = senderOnly
        self.video = video
        self.live = live
    }
}

/// Chooses the endpoint of a route: a pure function of the item, the preference, what the device can do, the group and
/// what is known to have failed (`model.md` section 0). It returns every candidate with its reasons.
enum EndpointChooser {
    struct Question: Sendable {
        var route: Route
        /// The room's name, for messages.
        var name: String
        var need: MediaNeed
        var via: ViaPreference
        /// Whether a person said it for this command; the room's own preference otherwise.
        var viaIsCommand: Bool
        /// The routes that play with it.
        var companions: [Route]
        var failures: [EndpointID: EndpointFailure]
    }

    private struct Judged {
        var candidate: RouteChoice.Candidate
        /// Compared in order; smaller is better.
        var rank: [Int]
    }

    static func choose(_ question: Question) -> RouteChoice {
        let groupCanBeTight =
            !question.companions.isEmpty
            && question.companions.allSatisfy { route in
                // A stream that nobody asks for is not what that room will play by.
                let streamed = route.endpoints.allSatisfy { $0.protocol == .castStreaming }
                return route.endpoints.contains {
                    $0.capabilities.sync == .tight && ($0.protocol != .castStreaming || streamed)
                        && usability($0, question.need) == nil
                }
            }
        let judged = question.route.endpoints.map { judge($0, question, groupCanBeTight: groupCanBeTight) }
        let ranked = judged.enumerated().sorted { left, right in
            (left.element.candidate.usable ? 0 : 1, left.element.rank, left.offset)
                < (right.element.candidate.usable ? 0 : 1, right.element.rank, right.offset)
        }
        return RouteChoice(
            route: question.route.id, name: question.name, candidates: ranked.map(\.element.candidate))
    }

    /// Why an endpoint cannot play such an item, or nil if it can.
    private static func usability(_ endpoint: Endpoint, _ need: MediaNeed) -> String? {
        if endpoint.access == .denied { return "the device does not let us in" }
        let pushes = endpoint.capabilities[.playAudioStream]
        let pulls = endpoint.capabilities[.playURL]
        if need.live, pushes != .available, pulls == .available {
            return "it fetches what it plays, and live input has nothing to fetch"
        }
        if pushes == .available || pulls == .available { return nil }
        for state in [pushes, pulls] {
            if case .unavailable(let reason) = state { return reason }
        }
        return "\(endpoint.protocol.displayName) cannot play audio"
    }

    private static func judge(_ endpoint: Endpoint, _ question: Question, groupCanBeTight: Bool) -> Judged {
        var reasons: [String] = []
        var losses: [String] = []
        var rank: [Int] = []
        let family = endpoint.protocol.family
        let pushes = endpoint.capabilities.has(.playAudioStream)
        let need = question.need

        if let wanted = question.via.family, wanted != family {
            let who =
                question.viaIsCommand ? "--via \(question.via.rawValue)" : "the room is set to \(wanted.displayName)"
            return Judged(
                candidate: RouteChoice.Candidate(
                    endpoint: endpoint, usable: false, reasons: ["\(who) rules it out"], losses: []),
                rank: [])
        }
        if question.via == .castStreaming, endpoint.protocol != .castStreaming {
            return Judged(
                candidate: RouteChoice.Candidate(
                    endpoint: endpoint, usable: false, reasons: ["a stream was asked for, and this fetches by URL"],
                    losses: []),
                rank: [])
        }
        // Compressed sound that ends with this sender: no room falls back to it unasked.
        if endpoint.protocol == .castStreaming, question.via != .castStreaming,
            question.route.endpoints.contains(where: { $0.protocol == .cast && usability($0, need) == nil })
        {
            return Judged(
                candidate: RouteChoice.Candidate(
                    endpoint: endpoint, usable: false,
                    reasons: ["a stream is for when it is asked for: --via cast-streaming"], losses: []),
                rank: [])
        }
        if let reason = usability(endpoint, need) {
            return Judged(
                candidate: RouteChoice.Candidate(endpoint: endpoint, usable: false, reasons: [reason], losses: []),
                rank: [])
        }
        if question.via.family == family {
            reasons.append(
                question.viaIsCommand
                    ? "--via \(question.via.rawValue) asks for it" : "the room is set to \(family.displayName)")
        }
        if let failure = question.failures[endpoint.id], failure.firmware == endpoint.firmware {
            reasons.append("failed before sound last time: \(failure.message)")
            rank.append(1)
        } else {
            rank.append(0)
        }
        if groupCanBeTight {
            let tight = endpoint.capabilities.sync == .tight
            reasons.append(
                tight
                    ? "plays in time with the other rooms"
                    : "would only start roughly together with the other rooms")
            rank.append(tight ? 0 : 1)
        }
        let wantsPush = need.senderOnly && !need.video
        if need.video {
            switch endpoint.capabilities[.video] {
            case .available:
                reasons.append("shows the picture")
                rank.append(0)
            case .unknown:
                reasons.append("may show the picture: it does not say whether it has a screen")
                rank.append(0)
            case .unavailable, .unsupported:
                reasons.append("would play the sound only")
                losses.append("no picture")
                rank.append(1)
            }
        } else if wantsPush {
            reasons.append(
                pushes
                    ? "takes a file of this machine directly" : "would have to fetch this machine's file over HTTP")
            rank.append(pushes ? 0 : 1)
        } else {
            reasons.append(
                pushes
                    ? "would need this machine to relay the network stream"
                    : "fetches the network address by itself and goes on without this machine")
            rank.append(pushes ? 1 : 0)
        }
        if !endpoint.capabilities.has(.gapless) { losses.append("short gaps between tracks") }
        if !endpoint.capabilities.has(.continuesWithoutSender) { losses.append("stops when this sender stops") }
        if endpoint.capabilities.sync != .tight { losses.append("not held in time with other rooms") }
        if endpoint.access == .password { losses.append("asks for a password") }
        rank.append(endpoint.origin == .stated ? 0 : 1)
        return Judged(
            candidate: RouteChoice.Candidate(endpoint: endpoint, usable: true, reasons: reasons, losses: losses),
            rank: rank)
    }
}

/// Tuples of (Int, [Int], Int) in order.
private func < (left: (Int, [Int], Int), right: (Int, [Int], Int)) -> Bool {
    if left.0 != right.0 { return left.0 < right.0 }
    if left.1 != right.1 { return left.1.lexicographicallyPrecedes(right.1) }
    return left.2 < right.2
}
