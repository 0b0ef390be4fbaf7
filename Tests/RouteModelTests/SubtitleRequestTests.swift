import Foundation
import RouteModel
import Testing

@Suite("What a person says of subtitles")
struct SubtitleRequestTests {
    @Test(
        "C12 off, languages, files and addresses",
        arguments: [
            ("off", SubtitleRequest(isOff: true)), ("None", SubtitleRequest(isOff: true)),
            ("de", SubtitleRequest(language: "de")), ("pt-BR", SubtitleRequest(language: "pt-BR")),
            ("zh-Hant-TW", SubtitleRequest(language: "zh-Hant-TW")),
            ("a.srt", SubtitleRequest(source: .file(path: "/w/a.srt"))),
            ("/x/a", SubtitleRequest(source: .file(path: "/x/a"))),
            ("b/a.txt", SubtitleRequest(source: .file(path: "/w/b/a.txt"))),
            ("https://h/a.vtt", SubtitleRequest(source: .url("https://h/a.vtt"))),
        ])
    func words(_ text: String, _ request: SubtitleRequest) throws {
        #expect(try SubtitleRequest(text, workingDirectory: "/w") == request)
    }

    @Test("What is none of these is refused", arguments: ["", "german", "d", "a.mkv", "de-", "de-toolongsubtag", "12"])
    func refused(_ text: String) {
        let error = #expect(throws: RouterError.self) { try SubtitleRequest(text, workingDirectory: "/w") }
        #expect(error?.hint?.contains("off") == true)
    }

    @Test("Requests and items without a word on subtitles still decode")
    func decode() throws {
        let old = #"{"id":"1","metadata":{"images":[],"kind":"music"},"source":{"file":"/a"},"start":0}"#
        #expect(try JSONDecoder().decode(QueueItem.self, from: Data(old.utf8)).subtitles == nil)
        var item = try JSONDecoder().decode(QueueItem.self, from: Data(old.utf8))
        item.subtitles = SubtitleRequest(language: "de", offset: MediaTime(seconds: -1.5), encoding: "cp1250")
        #expect(try JSONDecoder().decode(QueueItem.self, from: JSONEncoder().encode(item)) == item)
    }
}
