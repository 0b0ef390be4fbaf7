import CastV2
import RouteBackend
import RouteModel
import Testing

@testable import CastBackend

@Suite("C10 whose item a device plays")
struct CastTokensTests {
    private let ours = PullMedia(
        token: MediaToken(rawValue: "0a"), url: "http://10.0.0.1/media/0a/a.flac", contentType: "audio/flac",
        live: false, metadata: MediaMetadata(title: "A"), start: .zero)
    private let app = CastAppSession(
        appID: "CC1AD845", displayName: nil, sessionID: "s1", transportID: "t1", origin: .joined)

    private func information(_ url: String, mark: String? = nil) -> CastMediaInformation {
        CastMediaInformation(
            contentID: url, contentType: "audio/flac",
            customData: mark.map { [CastTokens.mark: .string($0)] })
    }

    @Test("by the mark it was handed over with, else by its URL")
    func known() {
        var tokens = CastTokens()
        tokens.add(ours)
        #expect(tokens.token(of: information(ours.url)) == ours.token)
        #expect(tokens.token(of: information("http://elsewhere/", mark: "0b")) == MediaToken(rawValue: "0b"))
        #expect(tokens.token(of: information("http://elsewhere/")) == nil)
        #expect(tokens.token(of: information("http://elsewhere/", mark: "")) == nil)
        #expect(CastLoad(ours, autoplay: true).media.flatMap(CastTokens().token) == ours.token)
    }

    @Test("another sender's item has a name that stays, for as long as its app session does")
    func foreign() {
        let item = CastQueueItem(itemID: 7, media: information("http://elsewhere/x.mp3"))
        let first = CastTokens().token(of: item, in: app)
        #expect(first == MediaToken(rawValue: "s1#7"))
        var tokens = CastTokens()
        tokens.add(ours)
        #expect(tokens.token(of: item, in: app) == first)
        #expect(tokens.token(of: CastQueueItem(media: item.media), in: app) == nil)
        #expect(tokens.token(of: CastQueueItem(itemID: 7), in: app) == nil)
    }

    @Test("what is no address is nothing that we could play")
    func entries() {
        let entity = CastQueueItem(itemID: 1, media: information("spotify:track:1"))
        #expect(WindowEntry(entity, token: ours.token).url == nil)
        let address = CastQueueItem(itemID: 1, media: information("https://h/a.mp3"))
        #expect(WindowEntry(address, token: ours.token).url == "https://h/a.mp3")
    }

    @Test("C12 C14 tracks and rate go into the load")
    func load() throws {
        var media = ours
        media.rate = 1.5
        media.tracks = [
            PullTrack(
                id: 3, kind: .text, subtype: .subtitles, language: "de", url: "http://10.0.0.1/t.vtt",
                contentType: "text/vtt", isInband: false)
        ]
        media.activeTracks = [3]
        let load = CastLoad(media, autoplay: true)
        #expect(load.playbackRate == 1.5)
        #expect(load.activeTrackIDs == [3])
        let track = try #require(load.media?.tracks.first)
        #expect(track.kind == .text && track.subtype == .subtitles && track.language == "de")
        #expect(track.contentID == "http://10.0.0.1/t.vtt")
        #expect(CastLoad(ours, autoplay: true).playbackRate == nil)
    }
}
