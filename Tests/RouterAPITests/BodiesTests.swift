import RouteModel
import Testing

@testable import RouterAPI

@Suite("Bodies of requests")
struct BodiesTests {
    @Test("A6 a request to play comes through whole, with every field that it has")
    func play() throws {
        let request = PlayRequest(
            what: ["a.mp4"], rooms: ["Kitchen"], via: .cast, volume: VolumePosition(0.3), start: MediaTime(seconds: 5),
            workingDirectory: "/m", subtitles: SubtitleRequest(source: .file(path: "/m/a.srt")), rate: 1.5,
            repeatMode: .all, shuffle: true, context: true, savedQueue: "s", failurePolicy: .retry(2),
            externalPlayback: false,
            descriptions: [MediaDescription(source: .url("http://h/a"), metadata: MediaMetadata(title: "A"))],
            paused: true)
        let plain = PlayRequest(what: [], rooms: [])
        // A field that is added later has to be here too.
        for (field, other) in zip(Mirror(reflecting: request).children, Mirror(reflecting: plain).children) {
            #expect("\(field.value)" != "\(other.value)", "\(field.label ?? "") is not filled")
        }
        #expect(PlayBody(request).request == request)
        let sent = try APIJSON.encode(PlayBody(request))
        #expect(try APIJSON.decode(PlayBody.self, from: sent).request == request)
        #expect(PlayBody(plain).request == plain)
    }

    @Test("C7 a command comes through with the item and the time that it is for")
    func command() throws {
        let terms = CommandTerms(expected: ItemID(rawValue: "01A"), within: MediaTime(seconds: 2.5))
        let sent = try APIJSON.encode(CommandBody(command: .pause, origin: .web, terms: terms))
        let fields = try APIJSON.decode([String: JSONValue].self, from: sent)
        #expect(Set(fields.keys) == ["command", "expected", "origin", "within"])
        #expect(try APIJSON.decode(CommandBody.self, from: sent).terms == terms)
        let plain = try APIJSON.encode(CommandBody(command: .pause))
        #expect(try APIJSON.decode(CommandBody.self, from: plain).terms == CommandTerms())
    }
}
