import Foundation
import Logging
import RouteBackend
import RouteModel

/// Items as URLs for receivers that fetch.
extension MediaLibrary {
    /// Pixels of the pictures that we serve: for a screen, and for a line of a list.
    private static let pictureSides = [1280, 320]

    public func publish(
        _ item: QueueItem, token: MediaToken, for requirements: PullRequirements
    ) async throws -> PullMedia {
        let receiver = try await ReceiverAddress(requirements.receiverAddress)
        switch item.source {
        case .file(let path): return try await publish(path, item, token, receiver, requirements)
        case .url(let text): return try await publish(address: text, item, token, receiver, requirements)
        case .live:
            throw RouterError(
                .mediaUnsupported, "“\(item.source.label)” is live input, which a receiver cannot fetch",
                hint: "Play it by AirPlay, or with --via cast-streaming", scope: .item)
        }
    }

    private func publish(
        _ path: String, _ item: QueueItem, _ token: MediaToken, _ receiver: ReceiverAddress,
        _ requirements: PullRequirements
    ) async throws -> PullMedia {
        let facts = try await publishable(item.source)
        guard facts.contentType != ContentType.hls else {
            throw RouterError(
                .mediaUnsupported, "“\(item.source.label)” is a list of segments on this machine",
                hint: "Play it by AirPlay, or from a web server", scope: .item)
        }
        try check(facts.contentType, item, requirements)
        let base = try await base(receiver)
        await registry.publish(
            .file(path: path, contentType: facts.contentType),
            as: PublishedPart(token: token.rawValue, target: .media), to: receiver.address)
        var media = PullMedia(
            token: token, url: "\(base)/media/\(token.rawValue)/\(Self.urlName(item.source))",
            contentType: facts.contentType, live: facts.live, metadata: item.metadata.filled(from: facts.metadata),
            start: item.start)
        if let notice = try await portNotice() { media.notices.append(notice) }
        try await addPictures(to: &media, of: item.source, hasArtwork: facts.hasArtwork, receiver)
        let sidecars = facts.hasVideo ? SidecarSubtitles.find(beside: path) : SidecarSubtitles()
        try await addTracks(
            to: &media,
            TrackOffer(
                source: item.source, streams: facts.tracks, sidecars: sidecars, request: item.subtitles), receiver)
        return media
    }

    private func publish(
        address text: String, _ item: QueueItem, _ token: MediaToken, _ receiver: ReceiverAddress,
        _ requirements: PullRequirements
    ) async throws -> PullMedia {
        let known = try await findingOfAddress(item.source)
        let contentType = known?.finding.contentType ?? ContentType.of(extension: item.source.fileExtension)
        try check(contentType ?? ContentType.unknown, item, requirements)
        var media = PullMedia(
            token: token, url: await receiver.reachable(text), contentType: contentType ?? ContentType.unknown,
            live: known?.finding.live ?? false,
            metadata: known.map { item.metadata.filled(from: $0.finding.metadata) } ?? item.metadata,
            start: item.start)
        try await addPictures(to: &media, of: item.source, hasArtwork: known?.hasArtwork ?? false, receiver)
        // A list of segments names its tracks to the receiver by itself.
        let isAdaptive = media.contentType == ContentType.hls || media.contentType == "application/dash+xml"
        try await addTracks(
            to: &media,
            TrackOffer(
                source: item.source, streams: isAdaptive ? [] : known?.finding.tracks ?? [],
                sidecars: SidecarSubtitles(), request: item.subtitles), receiver)
        return media
    }

    /// What has to be known of a file before a receiver is told of it. Sound whose first bytes say enough is not
    /// probed: a process for that would hold up the sound by tens of milliseconds.
    private func publishable(_ source: MediaSource) async throws -> MediaFacts {
        let file = try fileFacts(source)
        if known[source]?.file != file, case .file(let path) = source, let quick = QuickFacts.read(path) {
            let companion = ArtworkReader.companion(of: source) != nil
            return MediaFacts(
                metadata: quick.metadata, duration: quick.metadata.duration, contentType: quick.contentType,
                hasAudio: true, hasVideo: false, live: false, hasArtwork: quick.hasPicture || companion)
        }
        return try await facts(source)
    }

    // MARK: Pictures

    /// Pictures that the item names itself go before ours. Those that only this network knows are served by us.
    private func addPictures(
        to media: inout PullMedia, of source: MediaSource, hasArtwork: Bool, _ receiver: ReceiverAddress
    ) async throws {
        let token = media.token.rawValue
        // A file of this machine cannot be fetched from there.
        var images = media.metadata.images.filter { InputArguments.isWeb($0.url) }
        for (index, image) in images.enumerated() where receiver.isOutOfReach(image.url) {
            let part = PublishedPart(token: token, target: .picture, number: Self.pictureSides.count + index)
            await registry.publish(.image(url: image.url), as: part, to: receiver.address)
            images[index].url = "\(try await base(receiver))/art/\(token)/\(part.number)"
        }
        if images.isEmpty, hasArtwork {
            let base = try await base(receiver)
            for (number, side) in Self.pictureSides.enumerated() {
                await registry.publish(
                    .artwork(source, side: side), as: PublishedPart(token: token, target: .picture, number: number),
                    to: receiver.address)
                images.append(
                    MediaImage(url: "\(base)/art/\(token)/\(number)", role: number == 0 ? .cover : .thumbnail))
            }
        }
        media.metadata.images = images
    }

    // MARK: Tracks

    /// Throws where a subtitle file that somebody named is not there or cannot be read as one.
    private func addTracks(to media: inout PullMedia, _ offer: TrackOffer, _ receiver: ReceiverAddress) async throws {
        media.tracks = offer.tracks
        media.activeTracks = offer.active
        media.notices += offer.notices
        guard !offer.served.isEmpty else { return }
        let base = try await base(receiver)
        for (id, source) in offer.served {
            // Of the person's own file the faults are told at once: it is small, and they are waiting for it.
            if case .separate(.file) = source.origin, offer.isOwn(source) { _ = try await subtitles.text(source) }
            await registry.publish(
                .text(source), as: PublishedPart(token: media.token.rawValue, target: .track, number: id),
                to: receiver.address)
            if let index = media.tracks.firstIndex(where: { $0.id == id }) {
                media.tracks[index].url = "\(base)/track/\(media.token.rawValue)/\(id).vtt"
            }
        }
    }

    // MARK: The server

    public func withdraw(_ tokens: [MediaToken]) async {
        guard let server else { return }
        for token in tokens { await subtitles.forget(await server.registry.withdraw(token.rawValue)) }
    }

    public func fetches(of token: MediaToken) async -> FetchRecord? { await server?.registry.record(token.rawValue) }

    private var registry: PublishedRegistry { runningServer.registry }

    private var runningServer: MediaServer {
        if let server { return server }
        let (subtitles, images) = (subtitles, images)
        let sources = MediaResponder.Sources(
            artwork: { [weak self] source, side in
                await self?.artwork(
                    source, within: ArtworkLimits(maximumBytes: MediaResponder.maximumArtwork, side: side))
            },
            image: { url in
                (try? await images.image(url)).map { Artwork(mimeType: $0.facts.mimeType, bytes: $0.bytes) }
            },
            text: { try await subtitles.text($0) })
        let made = MediaServer(
            configuration: configuration, clock: clock, logger: logger, sources: sources)
        server = made
        return made
    }

    /// The beginning of our URLs for a receiver.
    private func base(_ receiver: ReceiverAddress) async throws -> String {
        guard !stopped else { throw Self.closed }
        guard let local = NetworkAddress.local(towards: receiver.text) else {
            throw RouterError(
                .mediaUnreachable, "this machine has no network address that the receiver could fetch from",
                hint: "Check the network connection", scope: .item, retry: .later)
        }
        let host = local.contains(":") ? "[\(local)]" : local
        return "http://\(host):\(try await runningServer.port())"
    }

    /// Said where receivers fetch from another port than the one that a firewall was opened for.
    private func portNotice() async throws -> Notice? {
        let (wanted, port) = (configuration.serverPort, try await runningServer.port())
        guard wanted != 0, port != wanted else { return nil }
        return Notice(
            .warning, "port \(wanted) for media is taken by another program: receivers fetch from port \(port)",
            hint: "Let port \(port) through the firewall too, end the other program, or set another port (media: port:)"
        )
    }

    /// What an address is. Where only the receiver may be able to fetch it, what its name says has to do.
    private func findingOfAddress(_ source: MediaSource) async throws -> Known? {
        do {
            return try await finding(source)
        } catch let error as RouterError where error.code == .itemFailed || error.code == .timeout {
            logger.notice("publishing an address unseen: \(error.message)")
            return nil
        }
    }

    private func check(_ contentType: String, _ item: QueueItem, _ requirements: PullRequirements) throws {
        guard !requirements.contentTypes.isEmpty,
            !requirements.contentTypes.contains(where: { ContentType.canonical($0) == contentType })
        else { return }
        throw RouterError(
            .mediaUnsupported, "the receiver does not play “\(item.source.label)” (\(contentType))",
            hint: "Convert it to FLAC, MP3 or MP4, or play it by AirPlay, which is sent decoded", scope: .item)
    }

    /// A file's name as the last part of a URL: for the eyes of who reads a receiver's log.
    private static func urlName(_ source: MediaSource) -> String {
        let plain = source.label.unicodeScalars.map { scalar -> Character in
            let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
            return isPlain || scalar == "." || scalar == "_" ? Character(scalar) : "-"
        }
        let name = String(plain.suffix(80)).drop { $0 == "." || $0 == "-" }
        return name.isEmpty ? "media" : String(name)
    }
}
