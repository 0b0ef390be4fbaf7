import CastV2
import RouteBackend
import RouteModel

// Transport, rate, tracks and ads of what is loaded (C11 to C15).

extension CastControl {
    public func play() async throws {
        try await ask(.play(mediaSessionID: try await loaded().mediaSessionID), doing: "playing")
    }

    /// Throws `unsupported` for what cannot be paused, as a live stream without a window.
    public func pause() async throws {
        let status = try await loaded()
        guard status.canPause else {
            throw RouterError(
                .unsupported, "what plays on \(errors.name) cannot be paused",
                hint: status.isLive ? "A live stream plays or stops" : "Stop it instead", scope: .command)
        }
        try await ask(.pause(mediaSessionID: status.mediaSessionID), doing: "pausing")
    }

    /// Ends what is loaded; the app stays.
    public func stop() async throws {
        try await ask(.stop(mediaSessionID: try await loaded().mediaSessionID), doing: "stopping")
    }

    /// `position` in seconds; of a live stream, in its own time, and taken to the nearest end of its window. Returns
    /// where it went, and how many unwatched ad breaks it passed over: the device plays the last of them first.
    @discardableResult
    public func seek(to position: Double) async throws -> (position: Double, breaks: Int) {
        let status = try await loaded()
        guard status.canSeek else {
            throw RouterError(
                .unsupported, "what plays on \(errors.name) has no positions to go to",
                hint: status.isLive ? "A live stream plays or stops" : "Start it anew", scope: .command)
        }
        let now = clock.now()
        let wanted = CastLiveWindow(status, at: now)?.nearest(to: position) ?? max(0, position)
        let crossed = CastAdTimeline(status).crossed(from: status.position(at: now), to: wanted)
        try await ask(.seek(mediaSessionID: status.mediaSessionID, position: wanted, resume: nil), doing: "seeking")
        return (wanted, crossed.count)
    }

    /// 0.5 to 2; outside of it the nearest. Returns the rate that was asked for.
    @discardableResult
    public func setRate(_ rate: Double) async throws -> Double {
        let status = try await loaded()
        if let commands = status.supportedMediaCommands, !commands.contains(.playbackRate) {
            throw RouterError(
                .unsupported, "what plays on \(errors.name) goes at one rate only",
                hint: "Load it in an app that has rates", scope: .command)
        }
        let wanted = CastMediaRequest.playbackRate(rate)
        try await ask(.setPlaybackRate(mediaSessionID: status.mediaSessionID, wanted), doing: "setting the rate")
        return wanted
    }

    /// Skips the clip that plays, when and only when it may be: throws `unavailable` before, with the seconds left.
    public func skipAd() async throws {
        let status = try await loaded()
        do throws(CastAdTimeline.SkipRefusal) {
            try CastAdTimeline(status).checkSkip(at: clock.now())
        } catch {
            switch error {
            case .noBreakPlays:
                throw RouterError(
                    .unavailable, "no ad plays on \(errors.name)", hint: "Skip while one plays", scope: .command)
            case .neverSkippable:
                throw RouterError(
                    .unsupported, "this ad cannot be skipped", hint: "Wait for its end", scope: .command)
            case .tooEarly(let seconds):
                let left = Int(min(max(1, seconds.rounded(.up)), 86_400))
                throw RouterError(
                    .unavailable, "this ad can be skipped in \(left) s", hint: "Try again then", scope: .command,
                    retry: .later)
            }
        }
        try await ask(.skipAd(mediaSessionID: status.mediaSessionID), doing: "skipping the ad")
    }

    /// `text` and `audio` are a language, a name or a track's number, or `off`; nil leaves them. `style` has the keys
    /// of a text track style, such as fontScale=1.5 or foregroundColor=#FFFF00.
    public func setTracks(text: String? = nil, audio: String? = nil, style: [String: String] = [:]) async throws {
        let styling = try Self.textTrackStyle(style)
        let status = try await loaded()
        if let commands = status.supportedMediaCommands, !commands.contains(.editTracks),
            status.media?.tracks.isEmpty ?? true
        {
            throw RouterError(
                .unsupported, "what plays on \(errors.name) has no tracks to choose from",
                hint: "Load it with some: --subtitle URL", scope: .command)
        }
        var edit = CastTracksEdit(textTrackStyle: styling)
        if text != nil || audio != nil {
            do throws(CastTrackChoice.Missing) {
                edit.activeTrackIDs = try CastTrackChoice(text: Self.wish(text), audio: Self.wish(audio))
                    .activeTrackIDs(of: status.media?.tracks ?? [], now: status.activeTrackIDs)
            } catch {
                throw missing(error)
            }
        }
        try await ask(.editTracks(mediaSessionID: status.mediaSessionID, edit), doing: "choosing tracks")
    }

    private static func wish(_ words: String?) -> CastTrackChoice.Wish {
        switch words?.lowercased() {
        case nil: .asIs
        case "off", "none": .off
        default: .words(words ?? "")
        }
    }

    private func missing(_ missing: CastTrackChoice.Missing) -> RouterError {
        let kind = missing.kind.rawValue.lowercased()
        let there = missing.tracks.map { $0.language ?? $0.name ?? String($0.id) }
        return RouterError(
            .unavailable, "there is no \(kind) track “\(missing.words)”",
            hint: there.isEmpty
                ? "What plays has no \(kind) tracks" : "There is: \(there.joined(separator: ", "))",
            scope: .command, candidates: there)
    }

    static func textTrackStyle(_ values: [String: String]) throws -> CastTextTrackStyle? {
        guard !values.isEmpty else { return nil }
        let keys = [
            "foregroundColor", "backgroundColor", "edgeColor", "edgeType", "windowColor", "windowType",
            "windowRoundedCornerRadius", "fontScale", "fontFamily", "fontGenericFamily", "fontStyle",
        ]
        var fields: [String: CastJSON] = [:]
        for (key, value) in values {
            guard let known = keys.first(where: { $0.lowercased() == key.lowercased() }) else {
                throw RouterError(
                    .configuration, "“\(key)” is no part of a text style", hint: "Use \(keys.joined(separator: ", "))",
                    scope: .command, candidates: keys)
            }
            fields[known] = .string(value)
        }
        let style = CastTextTrackStyle(json: .object(fields))
        let read = style?.json.object ?? [:]
        if let wrong = fields.keys.sorted().first(where: { read[$0] == nil }) {
            throw RouterError(
                .configuration, "“\(fields[wrong]?.string ?? "")” is no value for \(wrong)",
                hint: wrong.hasSuffix("Color")
                    ? "Write a colour as #RRGGBB or #RRGGBBAA" : "See router cast tracks --help",
                scope: .command)
        }
        return style
    }
}
