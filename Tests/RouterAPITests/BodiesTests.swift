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
            externalPlayback: false)
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
}
