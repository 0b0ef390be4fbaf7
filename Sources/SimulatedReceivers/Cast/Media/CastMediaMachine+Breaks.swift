/// Ad breaks: their clips are fetched and played in place of the content (`Protocols/cast` section 7).
extension CastMediaMachine {
    struct AdBreak: Sendable, Hashable {
        struct Clip: Sendable, Hashable {
            var id: String
            var url: String
            var contentType: String
            /// Seconds after which it may be skipped; nil is never.
            var skippableAfter: Double?
        }

        var id: String
        var clips: [Clip]
        var index = 0
        /// Seconds of the clips before this one.
        var before: Double = 0
        /// The content waits in the deck of this generation.
        var contentGeneration: Int
        /// Where the content goes on, in seconds; it stands still meanwhile.
        var contentPosition: Double
        var contentDuration: Double?
        var contentPicture: MediaProbe.Picture?
        var contentRate: Double
        var isPostRoll = false
        var toldSkippable = false

        var clip: Clip { clips[index] }
    }

    /// A break as the media announces it.
    struct BreakPlace: Sendable, Hashable {
        var id: String
        /// Seconds into the content; -1 is after it.
        var position: Double
        var clipIDs: [String]
    }

    /// Seconds by which the content may stop beside a break's place.
    static let breakTolerance = 0.05

    /// Breaks that have clips of their own and were not watched yet.
    static func breaks(of media: JSONValue?, except watched: Set<String> = []) -> [BreakPlace] {
        (media?["breaks"]?.array ?? []).compactMap { entry in
            guard let id = entry["id"]?.string, let position = entry["position"]?.double,
                entry["isWatched"]?.bool != true, entry["isEmbedded"]?.bool != true, !watched.contains(id)
            else { return nil }
            let clips = entry["breakClipIds"]?.array?.compactMap(\.string) ?? []
            return clips.isEmpty ? nil : BreakPlace(id: id, position: position, clipIDs: clips)
        }.sorted { $0.position < $1.position }
    }

    /// Where the player must stop by itself: at the next break, or where the item says that it ends.
    func stretchEnd(of index: Int, from start: Double) -> Double? {
        let fields = items[index].fields
        let breaks = Self.breaks(of: fields["media"], except: index == currentIndex ? watchedBreaks : [])
        var ends = breaks.map(\.position).filter { $0 > start + Self.breakTolerance }
        if let length = fields["playbackDuration"]?.double, length > 0 {
            ends.append(max(start, (fields["startTime"]?.double ?? 0) + length))
        }
        return ends.min()
    }

    /// Starts the last unwatched break that lies between two places; the content goes on at the second one. False if
    /// there is none.
    mutating func startBreak(between from: Double, and target: Double, at now: Int64) -> Bool {
        let near = Self.breakTolerance
        let found = Self.breaks(of: currentMedia, except: watchedBreaks).last {
            $0.position >= 0 && $0.position >= from - near && $0.position <= target + near
        }
        guard let found else { return false }
        return run(found, resumingAt: target, at: now)
    }

    mutating func startPostRoll(at now: Int64) -> Bool {
        guard let found = Self.breaks(of: currentMedia, except: watchedBreaks).first(where: { $0.position < 0 }) else {
            return false
        }
        return run(found, resumingAt: basePosition, at: now)
    }

    private mutating func run(_ place: BreakPlace, resumingAt position: Double, at now: Int64) -> Bool {
        stopClock(at: now)
        let known = Dictionary(
            (currentMedia?["breakClips"]?.array ?? []).compactMap { clip in clip["id"]?.string.map { ($0, clip) } }
        ) { first, _ in first }
        let clips = place.clipIDs.compactMap { id in
            known[id].flatMap { clip in
                Self.url(of: clip).map {
                    AdBreak.Clip(
                        id: id, url: $0, contentType: clip["contentType"]?.string ?? "video/mp4",
                        skippableAfter: clip["whenSkippable"]?.double.flatMap { $0 >= 0 ? $0 : nil })
                }
            }
        }
        watchedBreaks.insert(place.id)
        // VAST, or clips that are not described: nothing to play.
        guard !clips.isEmpty else {
            note("breakWithoutClips", ["break": .string(place.id)])
            return false
        }
        dropPreload()
        adBreak = AdBreak(
            id: place.id, clips: clips, contentGeneration: generation, contentPosition: position,
            contentDuration: duration, contentPicture: picture, contentRate: rate, isPostRoll: place.position < 0)
        note("break", ["break": .string(place.id), "position": .number(position), "clips": .integer(clips.count)])
        playClip(at: now)
        return true
    }

    private mutating func playClip(at now: Int64) {
        guard let adBreak else { return }
        var load = PlayerLoad(url: adBreak.clip.url, contentType: adBreak.clip.contentType, start: 0)
        load.needsOrigin = configuration.needsOrigin
        phase = .loading
        basePosition = 0
        duration = nil
        rate = 1
        generation = nextGeneration()
        note("clip", ["break": .string(adBreak.id), "clip": .string(adBreak.clip.id)])
        actions.append(.player(.load(load, generation: generation, keeping: adBreak.contentGeneration)))
        pushStatus(at: now, withMedia: true)
    }

    mutating func clipEnded(at now: Int64) {
        adBreak?.before += basePosition
        nextClip(at: now)
    }

    /// A clip that cannot be played is passed over.
    mutating func clipFailed(_ reason: String, at now: Int64) {
        note("clipFailed", ["clip": .string(adBreak?.clip.id ?? ""), "reason": .string(reason)])
        actions.append(.push(message("ERROR", ["detailedErrorCode": 901, "requestId": 0, "severity": 2])))
        stopClock(at: now)
        nextClip(at: now)
    }

    mutating func skipAd(_ asker: CastAsker, _ now: Int64) {
        guard let running = adBreak, phase != .loading else { return invalidState(asker) }
        guard let after = running.clip.skippableAfter, heardPosition(at: now) >= after else {
            return refuse(asker, "INVALID_REQUEST")
        }
        note("skip", ["clip": .string(running.clip.id), "position": .number(heardPosition(at: now))])
        stopClock(at: now)
        clipEnded(at: now)
        reply(asker, at: now)
    }

    private mutating func nextClip(at now: Int64) {
        guard let running = adBreak else { return }
        if running.index + 1 < running.clips.count {
            adBreak?.index += 1
            adBreak?.toldSkippable = false
            return playClip(at: now)
        }
        adBreak = nil
        note("breakEnded", ["break": .string(running.id)])
        generation = running.contentGeneration
        duration = running.contentDuration
        picture = running.contentPicture
        rate = running.contentRate
        basePosition = running.contentPosition
        if running.isPostRoll {
            actions.append(.player(.take(generation: generation)))
            return finish(at: now, now)
        }
        actions.append(.player(.take(generation: generation)))
        restart(from: running.contentPosition, at: now)
        pushStatus(at: now, withMedia: true)
    }

    /// Tells when the clip can be skipped.
    mutating func tickBreak(at now: Int64) {
        guard let running = adBreak, !running.toldSkippable, let after = running.clip.skippableAfter,
            phase == .playing, heardPosition(at: now) >= after
        else { return }
        adBreak?.toldSkippable = true
        pushStatus(at: now)
    }

    func breakStatus(at now: Int64) -> JSONValue? {
        guard let adBreak else { return nil }
        let clipTime = phase == .loading ? 0 : heardPosition(at: now)
        var fields: [String: JSONValue] = [
            "breakId": .string(adBreak.id), "breakClipId": .string(adBreak.clip.id),
            "currentBreakTime": .number(adBreak.before + clipTime), "currentBreakClipTime": .number(clipTime),
        ]
        fields["whenSkippable"] = adBreak.clip.skippableAfter.map { .number($0) }
        return .object(fields)
    }
}
