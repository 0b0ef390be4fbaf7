/// Tracks: which are on, and the text of those that are fetched (`Protocols/cast` section 7).
extension CastMediaMachine {
    /// Text tracks that may be on at a time; more are refused.
    static let maximumActiveTracks = 32

    static func trackIDs(_ value: JSONValue?) -> [Int] { value?.array?.compactMap(\.int) ?? [] }

    private var tracks: [JSONValue] { currentMedia?["tracks"]?.array ?? [] }

    mutating func editTracks(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        var wanted = request["activeTrackIds"].map { Self.trackIDs($0) } ?? activeTracks
        let known = Set(tracks.compactMap { $0["trackId"]?.int })
        guard wanted.count <= Self.maximumActiveTracks, wanted.allSatisfy(known.contains) else {
            return refuse(asker, "INVALID_PARAMS")
        }
        let texts = Set(tracks.filter { $0["type"]?.string == "TEXT" }.compactMap { $0["trackId"]?.int })
        if let language = request["language"]?.string {
            let found = tracks.first { $0["type"]?.string == "TEXT" && $0["language"]?.string == language }
            guard let id = found?["trackId"]?.int else { return refuse(asker, "LANGUAGE_NOT_SUPPORTED") }
            wanted = wanted.filter { !texts.contains($0) } + [id]
        }
        if request["enableTextTracks"]?.bool == false { wanted.removeAll(where: texts.contains) }
        activeTracks = wanted
        if let style = request["textTrackStyle"] { textTrackStyle = style }
        note(
            "tracks",
            ["active": .array(wanted.map { .integer($0) }), "style": request["textTrackStyle"] ?? .null])
        cues = cues.filter { wanted.contains($0.key) }
        fetchTracks()
        reply(asker, at: now)
        pushStatus(at: now, withMedia: request["textTrackStyle"] != nil)
    }

    mutating func editAudioTracks(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        let audio = tracks.filter { $0["type"]?.string == "AUDIO" }
        let language = request["language"]?.string
        guard let id = audio.first(where: { $0["language"]?.string == language })?["trackId"]?.int else {
            return refuse(asker, "LANGUAGE_NOT_SUPPORTED")
        }
        let others = Set(audio.compactMap { $0["trackId"]?.int })
        activeTracks = activeTracks.filter { !others.contains($0) } + [id]
        note("tracks", ["active": .array(activeTracks.map { .integer($0) })])
        replyAndPush(asker, at: now)
    }

    /// LIKE, DISLIKE, FOLLOW and their like become states of the media.
    mutating func userAction(_ request: JSONValue, _ asker: CastAsker, _ now: Int64) {
        guard let action = request["userAction"]?.string, items.indices.contains(currentIndex),
            var media = currentMedia?.object
        else { return refuse(asker, "INVALID_PARAMS") }
        note("userAction", ["action": .string(action), "clear": request["clear"] ?? .bool(false)])
        var states = media["userActionStates"]?.array ?? []
        states.removeAll { $0["userAction"]?.string == action }
        if request["clear"]?.bool != true { states.append(["userAction": .string(action)]) }
        media["userActionStates"] = .array(states)
        items[currentIndex].fields["media"] = .object(media)
        reply(asker, at: now)
        pushStatus(at: now, withMedia: true)
    }

    // MARK: Text

    /// Fetches what is on and not here yet.
    mutating func fetchTracks() {
        for track in tracks {
            guard let id = track["trackId"]?.int, activeTracks.contains(id), cues[id] == nil,
                track["type"]?.string == "TEXT", let url = track["trackContentId"]?.string
            else { continue }
            cues[id] = []
            actions.append(.fetchText(url: url, track: id))
        }
    }

    /// A text track that was fetched, or the reason why not.
    mutating func receive(_ text: FetchedText, at now: Int64) {
        if let fetch = text.fetch { note("fetch", fetch.details) }
        guard cues[text.track] != nil,
            tracks.contains(where: {
                $0["trackId"]?.int == text.track && $0["trackContentId"]?.string == text.url
            })
        else { return }
        switch text.result {
        case .success(let found):
            cues[text.track] = found
            note("track", ["track": .integer(text.track), "cues": .integer(found.count)])
            for cue in found {
                note(
                    "cue",
                    [
                        "track": .integer(text.track), "start": .number(cue.start), "end": .number(cue.end),
                        "text": .string(cue.text),
                    ])
            }
        case .failure(let reason):
            // A device plays on without the text.
            note("trackFailed", ["track": .integer(text.track), "reason": .string("\(reason)")])
        }
    }

    /// Journals the cues that came up since the last call.
    mutating func showCues(at now: Int64) {
        guard phase == .playing, adBreak == nil else { return }
        let position = position(at: now)
        guard position > cuesShownUntil else { return }
        for (track, list) in cues.sorted(by: { $0.key < $1.key }) {
            for cue in list where cue.start >= cuesShownUntil && cue.start < position {
                note(
                    "cueShown",
                    ["track": .integer(track), "text": .string(cue.text), "position": .number(cue.start)])
            }
        }
        cuesShownUntil = position
    }
}
