import RouteBackend
import RouteModel
import Testing

@Suite("Diagnosis of what did not play")
struct MediaDiagnosisTests {
    private static let device = "192.168.1.20"
    private static let ours = "http://192.168.1.5:7766/media/token/song.flac"

    private func facts(_ tracks: [SourceStream], _ type: String = "audio/flac") -> MediaFacts {
        MediaFacts(
            metadata: MediaMetadata(), duration: nil, contentType: type, hasAudio: true, hasVideo: false, live: false,
            hasArtwork: false, tracks: tracks)
    }

    private func track(_ codec: String, _ kind: PullTrack.Kind = .audio) -> SourceStream {
        SourceStream(kind: kind, index: 0, codec: codec)
    }

    private func diagnosis(
        _ failure: MediaDiagnosis.Failure = .other, url: String = ours, type: String = "audio/flac",
        isOurs: Bool = true, tracks: [SourceStream] = [], fetches: FetchRecord? = nil,
        plays: PlayableFormats = .castSpeaker, device: String = device
    ) -> RouterError {
        MediaDiagnosis(
            failure: failure, device: "“Kitchen”", deviceAddress: device, url: url, contentType: type,
            isOurs: isOurs, facts: tracks.isEmpty ? nil : facts(tracks, type), fetches: fetches, plays: plays
        ).error
    }

    private func record(
        _ status: Int, from address: String = device, completed: Int = 0, brokenOff: Int = 0, bytes: Int64 = 0,
        origin: String? = nil, allowed: Bool = true, target: FetchExchange.Key.Target = .media
    ) -> FetchRecord {
        FetchRecord(
            requests: 1, bytes: bytes, lastAddress: address, lastStatus: status,
            exchanges: [
                FetchExchange(
                    key: FetchExchange.Key(
                        target: target, method: "GET", range: "bytes=0-", address: address, origin: origin,
                        allowedOrigin: allowed, status: status), bytes: bytes, completed: completed,
                    brokenOff: brokenOff)
            ])
    }

    @Test("C21 never asked for: the firewall and the port")
    func firewall() {
        let error = diagnosis()
        #expect(error.code == .mediaUnreachable)
        #expect(error.message == "“Kitchen” never asked for the media at 192.168.1.5, port 7766")
        #expect(error.hint?.contains("port 7766") == true && error.hint?.contains("firewall") == true)
        // A picture that was fetched shows nothing of the media.
        #expect(diagnosis(fetches: record(200, completed: 1, target: .picture)).code == .mediaUnreachable)
    }

    @Test("C21 never asked for: another network, or an address that only we can reach")
    func networks() {
        #expect(diagnosis(url: "http://10.0.0.1:7766/media/t/a").message.contains("different networks"))
        #expect(diagnosis(url: "http://[fe80::1]:7766/media/t/a").message.contains("different networks"))
        #expect(diagnosis(url: "http://127.0.0.1:7766/media/t/a").message.contains("only this machine"))
        #expect(diagnosis(url: "http://127.0.0.1:7766/media/t/a", device: "127.0.0.2").message.contains("never asked"))
    }

    @Test("C21 a host name that 8.8.8.8 does not know", arguments: ["nas.local", "nas", "nas.lan", "box.fritz.box"])
    func names(_ host: String) {
        let error = diagnosis(.unreachable, url: "http://\(host):80/a.mp3?token=secret", isOurs: false)
        #expect(error.code == .mediaUnreachable)
        #expect(error.message.contains("8.8.8.8") && error.message.contains(host))
        #expect(!error.description.contains("secret"))
    }

    @Test(
        "C21 asked for and not given",
        arguments: [
            (403, RouterError.Code.mediaForbidden), (404, .mediaNotFound), (410, .mediaNotFound), (416, .itemFailed),
            (500, .itemFailed),
        ])
    func refused(_ status: Int, _ code: RouterError.Code) {
        let error = diagnosis(fetches: record(status))
        #expect(error.code == code)
        #expect(error.message.contains("\(status)"))
        #expect(error.hint != nil)
    }

    @Test("C21 asked for from another address: a group's leader or address translation")
    func otherAddress() {
        let error = diagnosis(fetches: record(403, from: "192.168.7.9"))
        #expect(error.code == .mediaForbidden)
        #expect(error.message.contains("192.168.7.9") && error.message.contains(Self.device))
        let served = diagnosis(fetches: record(200, from: "192.168.7.9", completed: 1, bytes: 5))
        #expect(served.causes.contains { $0.contains("fetched from 192.168.7.9") })
    }

    @Test("C21 fetched whole and refused: the codec it does not play, and those it does")
    func codec() {
        let error = diagnosis(
            .unsupported, type: "audio/mp4", tracks: [track("alac")], fetches: record(206, completed: 1, bytes: 9000))
        #expect(error.code == .mediaUnsupported)
        #expect(error.message == "“Kitchen” plays no audio in ALAC")
        #expect(error.hint?.contains("FLAC") == true)
        #expect(error.causes == ["192.168.1.20 asked 1× GET (bytes=0-), answered 206, 9 kB sent"])
    }

    @Test("C21 a film on a speaker, and a codec that only some screens play")
    func video() {
        let film = [track("h264", .video), track("aac")]
        let speaker = diagnosis(.other, type: "video/mp4", tracks: film, fetches: record(206, brokenOff: 1))
        #expect(speaker.message == "“Kitchen” plays no video in H.264")
        let some = diagnosis(
            .other, type: "video/mp4", tracks: [track("hevc", .video), track("aac")],
            fetches: record(206, completed: 1), plays: .castScreen)
        #expect(some.message.contains("only some models play video in HEVC"))
        let fine = diagnosis(
            .decoding, type: "video/mp4", tracks: film, fetches: record(206, completed: 1), plays: .castScreen)
        #expect(fine.message.contains("did not play it (video/mp4 with H.264, AAC)"))
        // Of two sound tracks one is enough.
        let two = [track("h264", .video), track("dts"), track("aac")]
        #expect(
            diagnosis(type: "video/mp4", tracks: two, fetches: record(206, completed: 1), plays: .castScreen).message
                .contains("did not play it (video/mp4"))
    }

    @Test("C21 a container it does not play")
    func container() {
        let error = diagnosis(type: "audio/x-ms-wma", fetches: record(200, completed: 1))
        #expect(error.message == "“Kitchen” plays no audio/x-ms-wma")
    }

    @Test("C21 the connection broke off")
    func brokenOff() {
        let error = diagnosis(
            .other, tracks: [track("flac")], fetches: record(206, brokenOff: 2, bytes: 3_400_000))
        #expect(error.code == .mediaUnreachable)
        #expect(error.message.contains("broke off after 3 MB"))
        #expect(error.retry == .later)
    }

    @Test("C21 a receiver app that needs CORS, and a stream whose server does not send it")
    func crossOrigin() {
        let ours = diagnosis(fetches: record(200, completed: 1, origin: "https://app.example", allowed: false))
        #expect(ours.code == .mediaForbidden && ours.message.contains("CORS"))
        let stream = diagnosis(
            .other, url: "https://h.example/a.m3u8", type: "application/vnd.apple.mpegurl", isOurs: false)
        #expect(stream.hint?.contains("Access-Control-Allow-Origin") == true)
    }

    @Test("C21 an address of others: certificate, keys, this machine")
    func theirs() {
        #expect(
            diagnosis(.unreachable, url: "https://h.example/a", isOurs: false).hint?.contains("certificate") == true)
        #expect(diagnosis(.unreachable, url: "http://h.example/a", isOurs: false).hint?.contains("8.8.8.8") == true)
        #expect(diagnosis(.keys, url: "https://h.example/a", isOurs: false).code == .mediaForbidden)
        #expect(diagnosis(.other, url: "http://localhost/a", isOurs: false).message.contains("only to itself"))
        #expect(diagnosis(.unsupported, url: "http://nas.local/a", isOurs: false).code == .mediaUnsupported)
    }

    @Test(
        "Addresses that are none give an error like any other",
        arguments: ["", "http://", "x", "http://[", "http://@:/"])
    func malformed(_ url: String) {
        for failure in [MediaDiagnosis.Failure.unreachable, .other, .keys, .decoding] {
            #expect(diagnosis(failure, url: url, isOurs: false).hint != nil)
            #expect(diagnosis(failure, url: url).hint != nil)
        }
    }

    @Test("A record keeps the first and the newest of many distinct requests, and counts all")
    func bounded() {
        var record = FetchRecord()
        for index in 0..<100 {
            let key = FetchExchange.Key(method: "GET", range: "bytes=\(index)-", address: "10.0.0.1", status: 206)
            record.add(FetchExchange(key: key, nanoseconds: Int64(index)))
            record.sent(key, bytes: 10, nanoseconds: Int64(index))
            record.finished(key, whole: index != 99, nanoseconds: Int64(index) + 1)
        }
        #expect(record.requests == 100 && record.bytes == 1000)
        #expect(record.exchanges.count == FetchRecord.maximumExchanges)
        #expect(record.exchanges.first?.key.range == "bytes=0-")
        #expect(record.exchanges.last?.key.range == "bytes=99-")
        #expect(record.exchanges.last?.brokenOff == 1 && record.exchanges.first?.completed == 1)
        #expect(record.exchanges.last?.firstNanoseconds == 99 && record.exchanges.last?.lastNanoseconds == 100)
        let again = record.exchanges[0]
        record.add(again)
        #expect(record.exchanges[0].count == 2 && record.exchanges[0].open == 1)
        let long = FetchExchange.Key(
            method: "GET", range: String(repeating: "9", count: 900), address: "a",
            userAgent: String(repeating: "u", count: 900), status: 200)
        #expect(long.range?.count == 64 && long.userAgent?.count == 200)
    }
}
