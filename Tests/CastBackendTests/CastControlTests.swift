import CastBackend
import Foundation
import PeerSupport
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Synchronization
import Testing

/// `router cast` as a library: one more sender of a simulated device, which plays silence and so needs no server.
@Suite(.timeLimit(.minutes(2))) struct CastControlTests {
    private func withDevice(
        _ configure: (inout SimulatedCastConfiguration) -> Void = { _ in },
        _ body: @Sendable (SimulatedCastReceiver, CastControl) async throws -> Void
    ) async throws {
        var configuration = SimulatedCastConfiguration(name: "Kitchen", port: 0, httpPort: nil)
        configuration.playsSilence = true
        configure(&configuration)
        let device = try SimulatedCastReceiver(configuration)
        let port = try await device.start().port
        var endpoint = try CastProvider().endpoint(
            from: DeviceURI("cast://127.0.0.1:\(port)?name=\(configuration.name)"))
        if configuration.group != nil { endpoint.kind = .group }
        do {
            try await CastControl.with(endpoint) { try await body(device, $0) }
        } catch {
            await device.stop()
            throw error
        }
        await device.stop()
    }

    private static func item(_ name: String, seconds: Double = 60) -> CastLoadItem {
        var item = CastLoadItem(url: "http://127.0.0.1:9/\(name).wav")
        item.metadata = MediaMetadata(
            kind: .music, title: name, artist: "Band", duration: MediaTime(seconds: seconds))
        return item
    }

    private static func titles(_ control: CastControl) async throws -> [String?] {
        try await control.queue().items.map(\.title)
    }

    private func code(_ body: () async throws -> Void) async -> RouterError.Code? {
        do {
            try await body()
            return nil
        } catch let error as RouterError {
            // Every error says what to do.
            #expect(error.hint != nil, "\(error.message)")
            return error.code
        } catch {
            Issue.record("not a RouterError: \(error)")
            return nil
        }
    }

    @Test("C1 C7 an idle device is looked at, and nothing is launched on it") func idle() async throws {
        try await withDevice({ $0.volume = 0.4 }) { device, control in
            let report = try await control.report()
            #expect(report.name == "Kitchen")
            #expect(report.volume?.level == 0.4)
            #expect(report.volume?.kind == "attenuation")
            #expect(report.app == nil)
            #expect(report.media == nil)
            #expect(report.members == nil)
            #expect(await code { try await control.play() } == .unavailable)
            #expect(await code { _ = try await control.queue() } == .unavailable)
            #expect(await code { try await control.skipAd() } == .unavailable)
            try await control.stopApp()
            #expect(await device.record().events("launch").isEmpty)
        }
    }

    @Test("C8 C14 loads, commands, and reports what plays") func playback() async throws {
        try await withDevice { device, control in
            var song = Self.item("Song")
            song.start = 10
            song.customJSON = #"{"k":[1]}"#
            try await control.load(song, rate: 1.5)
            var media = try #require(try await control.report().media)
            #expect(media.state == "playing")
            #expect(media.title == "Song")
            #expect(media.text("artist") == "Band")
            #expect(media.metadataType == 3)
            #expect(media.duration == 60)
            #expect(media.position >= 10)
            #expect(media.rate == 1.5)
            #expect(media.commands.contains("pause"))
            try await control.pause()
            #expect(try await control.report().media?.state == "paused")
            #expect(try await control.seek(to: 30).position == 30)
            #expect(try await control.report().media?.position == 30)
            #expect(try await control.setRate(9) == 2)
            #expect(try await control.report().media?.rate == 2)
            try await control.play()
            #expect(try await control.report().media?.state == "playing")
            try await control.setVolume(0.25)
            try await control.setMuted(true)
            let volume = try await control.report().volume
            #expect(volume?.level == 0.25)
            #expect(volume?.muted == true)
            try await control.stop()
            media = try #require(try await control.report().media)
            #expect(media.state == "idle")
            #expect(media.idleReason == "cancelled")
            try await control.stopApp()
            #expect(try await control.report().app == nil)
            #expect(await device.record().seeks == [30])
        }
    }

    @Test("the report is the JSON that programs read") func json() async throws {
        try await withDevice { _, control in
            try await control.load(Self.item("Song"), autoplay: false)
            let report = try await control.report()
            let data = try JSONEncoder().encode(report)
            #expect(try JSONDecoder().decode(CastDeviceReport.self, from: data) == report)
            let json = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
            #expect(Set(json.keys).isSuperset(of: ["name", "address", "volume", "app", "media"]))
            let media = try #require(json["media"] as? [String: Any])
            #expect(media["state"] as? String == "paused")
            #expect((media["metadata"] as? [String: Any])?["title"] as? String == "Song")
            #expect(
                Set(media.keys).isSuperset(of: [
                    "mediaSessionID", "state", "url", "contentType", "position", "duration", "rate", "commands",
                    "metadata", "tracks", "breaks", "queue",
                ]))
        }
    }

    @Test("C10 the queue: load, list, insert, move, jump, skip, remove, repeat, shuffle, update")
    func queue() async throws {
        try await withDevice { _, control in
            try await control.loadQueue(
                ["A", "B", "C", "D"].map { Self.item($0) }, startIndex: 1, position: 5, repeatMode: "all")
            var queue = try await control.queue()
            #expect(queue.items.map(\.title) == ["A", "B", "C", "D"])
            #expect(queue.index == 1)
            #expect(queue.items.map(\.mark) == [nil, "current", nil, nil])
            #expect(queue.repeatMode == "all")
            #expect(queue.complete)
            let ids = queue.items.map(\.itemID)
            try await control.insert([Self.item("X"), Self.item("Y")], before: ids[2])
            #expect(try await Self.titles(control) == ["A", "B", "X", "Y", "C", "D"])
            try await control.insert([Self.item("Z")])
            try await control.move([ids[3]], before: ids[0])
            #expect(try await Self.titles(control) == ["D", "A", "B", "X", "Y", "C", "Z"])
            try await control.move([ids[3]], before: nil)
            try await control.remove([ids[0], ids[2]])
            #expect(try await Self.titles(control) == ["B", "X", "Y", "Z", "D"])
            try await control.jump(to: ids[3])
            #expect(await eventually { (try? await control.report().media?.title) == "D" })
            try await control.skip(1)
            #expect(await eventually { (try? await control.report().media?.title) == "B" })
            try await control.skip(-1)
            #expect(await eventually { (try? await control.report().media?.title) == "D" })
            try await control.setRepeat("single")
            #expect(try await control.queue().repeatMode == "single")
            try await control.update(item: ids[1], startTime: 7)
            queue = try await control.queue()
            #expect(queue.items.first { $0.itemID == ids[1] }?.startTime == 7)
            try await control.setShuffle(true)
            #expect(try await Self.titles(control).count == 5)
            #expect(await code { try await control.remove([9999]) } == .mediaNotFound)
            #expect(await code { try await control.jump(to: 9999) } == .mediaNotFound)
            #expect(await code { try await control.move([ids[1]], before: ids[1]) } == .configuration)
            #expect(await code { try await control.setRepeat("often") } == .configuration)
            #expect(await code { try await control.loadQueue([], startIndex: 0) } == .configuration)
        }
    }

    @Test("C10 a queue that is longer than one answer is read whole") func longQueue() async throws {
        try await withDevice { _, control in
            try await control.loadQueue((1...50).map { Self.item("T\($0)") }, startIndex: 25)
            let queue = try await control.queue()
            #expect(queue.items.map(\.title) == (1...50).map { "T\($0)" })
            #expect(queue.count == 50)
            // A report shows the neighbourhood only.
            let shown = try #require(try await control.report().media?.queue)
            #expect(shown.count == 50)
            #expect(shown.items.contains { $0.title == "T26" && $0.mark == "current" })
        }
    }

    @Test("C10 another sender's edits are seen, and ours do not undo them unseen") func otherSender() async throws {
        try await withDevice { device, control in
            try await control.loadQueue(["A", "B", "C"].map { Self.item($0) })
            #expect(try await Self.titles(control) == ["A", "B", "C"])
            device.control(.otherSender(.remove(at: 1)))
            #expect(await eventually { (try? await Self.titles(control)) == ["A", "C"] })
            device.control(
                .otherSender(.insert(url: "http://127.0.0.1:9/new.wav", contentType: "audio/x-wav", before: 0)))
            #expect(await eventually { (try? await control.queue().items.count) == 3 })
            #expect(try await control.queue().items.first?.url == "http://127.0.0.1:9/new.wav")
        }
    }

    @Test("C12 text tracks: loaded, chosen by language, styled, switched off") func tracks() async throws {
        try await withDevice { _, control in
            var film = Self.item("Film")
            film.subtitles = ["http://127.0.0.1:9/a.vtt:en", "http://127.0.0.1:9/b.vtt:de-AT"].map(
                CastLoadItem.Subtitle.init)
            try await control.load(film)
            func active() async throws -> [String?] {
                try await control.report().media?.tracks.filter(\.active).map(\.language) ?? []
            }
            #expect(
                try await control.report().media?.tracks.map(\.url) == [
                    "http://127.0.0.1:9/a.vtt", "http://127.0.0.1:9/b.vtt",
                ])
            #expect(try await active() == ["en"])
            try await control.setTracks(text: "de", style: ["fontscale": "1.5", "foregroundColor": "#ffff00"])
            #expect(try await active() == ["de-AT"])
            try await control.setTracks(text: "off")
            #expect(try await active().isEmpty)
            #expect(await code { try await control.setTracks(text: "it") } == .unavailable)
            #expect(await code { try await control.setTracks(style: ["size": "9"]) } == .configuration)
            #expect(await code { try await control.setTracks(style: ["edgeType": "FUZZY"]) } == .configuration)
        }
    }

    @Test(
        "C15 an ad is skipped when it may be, and not before",
        .enabled(if: PeerProgram.absence == nil, "\(PeerProgram.absence ?? "")"))
    func ads() async throws {
        // Clips are fetched, so that there must be something to fetch.
        let file = try SoundFile(seconds: 60)
        let server = try PeerProgram("range_file_server.py", [file.path, "audio/x-wav"])
        let url = "http://127.0.0.1:\(try await server.start())/media"
        try await withDevice({ $0.playsSilence = false }) { device, control in
            var film = CastLoadItem()
            let described = #"""
                {"contentId":"URL","contentType":"audio/x-wav","duration":60,
                 "breaks":[{"id":"b","position":0,"breakClipIds":["c"]},{"id":"m","position":30,"breakClipIds":["n"]}],
                 "breakClips":[{"id":"c","title":"Soap","duration":20,"contentId":"URL",
                 "contentType":"audio/x-wav","whenSkippable":1.5},
                 {"id":"n","duration":20,"contentId":"URL","contentType":"audio/x-wav"}]}
                """#
            film.mediaJSON = described.replacing("URL", with: url)
            try await control.load(film)
            #expect(await eventually { (try? await control.report().media?.ad) != nil })
            let ad = try #require(try await control.report().media?.ad)
            #expect(ad.title == "Soap")
            #expect((ad.skippableIn ?? -1) > 0)
            #expect(await code { try await control.skipAd() } == .unavailable)
            #expect(await device.record().events("skipAd").isEmpty)
            #expect(await eventually { (try? await control.report().media?.ad?.skippableIn) == 0 })
            try await control.skipAd()
            #expect(await eventually { (try? await control.report().media?.ad) == nil })
            // Over an unwatched break: the device plays it first, and it is one that cannot be skipped.
            #expect(try await control.seek(to: 40).breaks == 1)
            #expect(await eventually { (try? await control.report().media?.ad?.breakID) == "m" })
            #expect(await code { try await control.skipAd() } == .unsupported)
        }
        await server.stop()
        withExtendedLifetime(file) {}
    }

    @Test("C11 a live stream without a window plays or stops; with one it can be gone back in") func live() async throws
    {
        var radio = CastLoadItem(url: "http://127.0.0.1:9/radio.wav")
        radio.live = true
        let stream = radio
        try await withDevice { _, control in
            try await control.load(stream)
            #expect(try await control.report().media?.live == nil)
            #expect(try await control.report().media?.stream == "live")
            #expect(await code { try await control.pause() } == .unsupported)
            #expect(await code { _ = try await control.seek(to: 3) } == .unsupported)
        }
        try await withDevice({ $0.liveWindow = 20 }) { _, control in
            try await control.load(stream)
            #expect(await eventually { (try? await control.report().media?.live) != nil })
            let live = try #require(try await control.report().media?.live)
            #expect(live.end >= live.start)
            // Beyond the window is at its end.
            #expect(try await control.seek(to: 1e6).position <= live.end + 60)
        }
    }

    @Test(
        "C6 what plays is carried over, by the app's own means and by loading", arguments: [true, false])
    func transfer(stores: Bool) async throws {
        try await withDevice({ $0.storesSessions = stores }) { source, control in
            try await control.loadQueue(
                ["A", "B", "C"].map { Self.item($0) }, startIndex: 1, position: 20, repeatMode: "all")
            try await self.withDevice({ $0.name = "Bath" }) { target, other in
                let report = try await control.transfer(to: other)
                #expect(report.method == (stores ? "session" : "load"))
                #expect(report.title == "B")
                #expect(report.position >= 20)
                #expect(report.items == 3)
                let there = try #require(try await other.report().media)
                #expect(there.title == "B")
                #expect(there.position >= 20 && there.position < 25)
                #expect(try await Self.titles(other) == ["A", "B", "C"])
                #expect(await eventually { await source.record().playerState == "IDLE" })
                #expect(await target.record().playerState == "PLAYING")
            }
        }
    }

    @Test("C6 what cannot be carried over goes on where it was") func failedTransfer() async throws {
        try await withDevice({ $0.storesSessions = false }) { source, control in
            try await control.load(Self.item("A"))
            try await self.withDevice({ $0.faults.loadFails = 104 }) { _, other in
                #expect(await code { _ = try await control.transfer(to: other) } == .mediaUnsupported)
                #expect(await eventually { await source.record().playerState == "PLAYING" })
            }
        }
    }

    @Test("C16 messages to an app's own namespace, and what it says") func channels() async throws {
        let name = SimulatedCastApp.echoText
        try await withDevice { _, control in
            #expect(await code { try await control.send("{}", in: name) } == .unavailable)
            #expect(await code { try await control.send("{}", in: "echo") } == .configuration)
            #expect(
                await code { try await control.send("{}", in: "urn:x-cast:com.google.cast.media") } == .configuration)
            let heard = Mutex<[CastChannelReport]>([])
            try await control.send(
                #"{"hello":1}"#, in: name, appID: SimulatedCastApp.echo.id, wait: 0.5
            ) { report in heard.withLock { $0.append(report) } }
            #expect(heard.withLock { $0.contains { $0.event == "message" && $0.text?.contains("hello") ?? false } })
            // Somebody who only listens hears of the app that comes and goes.
            let events = Mutex<[String]>([])
            let listening = Task {
                try await CastControl.with(control.endpoint) { listener in
                    try await listener.listen([name]) { report in events.withLock { $0.append(report.event) } }
                }
            }
            #expect(await eventually { events.withLock { $0 } == ["attached"] })
            try await control.stopApp()
            #expect(await eventually { events.withLock { $0 } == ["attached", "detached"] })
            try await control.send("{}", in: name, appID: SimulatedCastApp.echo.id)
            #expect(await eventually { events.withLock { $0.filter { $0 == "attached" }.count } == 2 })
            listening.cancel()
            _ = await listening.result
        }
    }

    @Test("C17 a group's members, by name") func members() async throws {
        try await withDevice {
            $0.group = SimulatedCastGroup(members: [
                .init(id: "11111111-1111-1111-1111-111111111111", name: "Kitchen", level: 0.5),
                .init(id: "22222222-2222-2222-2222-222222222222", name: "Bath", level: 0.25),
            ])
        } _: { _, control in
            #expect(try await control.report().members?.map(\.name) == ["Kitchen", "Bath"])
            try await control.setMember("bat", level: 0.1)
            #expect(
                await eventually {
                    (try? await control.report().members?.last?.volume?.level).flatMap { $0 } == 0.1
                })
            try await control.setMember("Kitchen", muted: true)
            #expect(await eventually { (try? await control.report().members?.first?.volume?.muted) == true })
            #expect(await code { try await control.setMember("Attic", level: 1) } == .routeNotFound)
        }
    }

    @Test(
        "C21 C22 what is refused is told by its reason, with the exit status of the table",
        arguments: [
            ("NOT_SUPPORTED", RouterError.Code.unsupported, Int32(6)),
            ("INVALID_MEDIA_SESSION_ID", .commandSuperseded, 1), ("PREMIUM_ACCOUNT_REQUIRED", .authRequired, 4),
            ("SKIP_LIMIT_REACHED", .rateLimited, 1), ("PARENTAL_CONTROL_RESTRICTED", .unavailable, 6),
            ("SOMETHING_ELSE", .unavailable, 6),
        ])
    func refusals(reason: String, expected: RouterError.Code, status: Int32) async throws {
        try await withDevice({ $0.faults.mediaCommandFails = reason }) { _, control in
            try await control.load(Self.item("A"))
            #expect(await code { try await control.pause() } == expected)
            #expect(expected.exitStatus == status)
        }
    }

    @Test(
        "what cannot be loaded is refused before anything is launched",
        arguments: [
            "/home/me/song.mp3", "file:///home/me/song.mp3", "http://", "http://h/a b.mp3", "http://h/noending",
        ])
    func unsendable(url: String) async throws {
        try await withDevice { device, control in
            #expect(await code { try await control.load(CastLoadItem(url: url)) } == .configuration)
            var item = CastLoadItem(url: "http://h/a.mp3")
            item.subtitles = [CastLoadItem.Subtitle(url: "http://h/a.srt")]
            let withSRT = item
            #expect(await code { try await control.load(withSRT) } == .configuration)
            item.subtitles = []
            item.customJSON = "{"
            let odd = item
            #expect(await code { try await control.load(odd) } == .configuration)
            #expect(await device.record().loads.isEmpty)
        }
    }

    @Test("C23 which apps a device can run") func apps() async throws {
        try await withDevice { _, control in
            let answers = try await control.availability(of: ["CC1AD845", "00000000"])
            #expect(answers["CC1AD845"] == true)
            #expect(answers["00000000"] == false)
        }
    }

    @Test("C17 a fixed volume is not changed") func fixedVolume() async throws {
        try await withDevice({ $0.volumeControl = .fixed }) { _, control in
            #expect(await code { try await control.setVolume(0.1) } == .unsupported)
            #expect(await code { try await control.setMuted(true) } == .unsupported)
        }
    }
}
