import CastBackend
import Foundation
import PeerSupport
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Testing

/// What a route session does beside playing: the device's queue, rate, tracks, ads, live streams, volumes, pictures.
/// The device plays silence and fetches nothing, where nothing else is said.
@Suite("What the engine asks of a Cast device", .timeLimit(.minutes(2))) struct CastRouteTests {
    private func withDevice(
        images: any ImageChoosing = FittingImage(), _ configure: (inout SimulatedCastConfiguration) -> Void = { _ in },
        _ body: (SimulatedCastReceiver, any RouteSession, Watch) async throws -> Void
    ) async throws {
        var configuration = SimulatedCastConfiguration(name: "Kitchen", port: 0, httpPort: nil)
        configuration.playsSilence = true
        configure(&configuration)
        let device = try SimulatedCastReceiver(configuration)
        let port = try await device.start().port
        let provider = CastProvider(images: images)
        let endpoint = try provider.endpoint(from: DeviceURI("cast://127.0.0.1:\(port)?name=Kitchen"))
        let session = try await provider.open(endpoint, options: OpenOptions())
        let result: Result<Void, any Error>
        do { result = .success(try await body(device, session, Watch(session))) } catch { result = .failure(error) }
        await session.end(.stop)
        await device.stop()
        try result.get()
    }

    private static func item(_ name: String, live: Bool = false) -> PullMedia {
        PullMedia(
            token: .random(), url: "http://127.0.0.1:9/\(name).wav", contentType: "audio/x-wav", live: live,
            metadata: MediaMetadata(kind: .music, title: name, duration: live ? nil : MediaTime(seconds: 60)),
            start: .zero)
    }

    private static func load(_ media: PullMedia, in session: any RouteSession) async throws {
        try await session.load(.pull(media), timeline: nil, autoplay: true)
    }

    private static func refusal(_ outcome: CommandOutcome) -> RouterError? {
        if case .failed(let error) = outcome { error } else { nil }
    }

    // MARK: The queue

    @Test("C10 what comes next is inserted into the device's queue, put in order and taken out, without a load")
    func upcoming() async throws {
        try await withDevice { device, session, watch in
            let items = ["a", "b", "c", "d"].map { Self.item($0) }
            func holds(_ places: [Int]) async -> Bool {
                await eventually { await watch.last?.window?.map(\.token) == places.map { items[$0].token } }
            }
            try await Self.load(items[0], in: session)
            for next in [[1, 2], [2, 3, 1], [3, 1], [1, 3, 2], []] {
                try await session.setUpcoming(next.map { items[$0] })
                #expect(await holds([0] + next), "\(next)")
            }
            #expect(await device.record().loads.count == 1)
            #expect(await watch.last?.media == .playing)
        }
    }

    @Test("C10 another sender's insertion, jump and repeat are told as they are, and ours go on from there")
    func adoption() async throws {
        try await withDevice { device, session, watch in
            let (a, b) = (Self.item("a"), Self.item("b"))
            try await Self.load(a, in: session)
            try await session.setUpcoming([b])
            device.control(
                .otherSender(.insert(url: "http://127.0.0.1:9/x.wav", contentType: "audio/x-wav", before: 1)))
            #expect(await eventually { await watch.last?.window?.count == 3 })
            let entry = try #require(await watch.last?.window?[1])
            #expect(entry.url == "http://127.0.0.1:9/x.wav")
            #expect(entry.token != a.token && entry.token != b.token)
            device.control(.otherSender(.repeatMode("REPEAT_ALL")))
            #expect(await eventually { await watch.last?.repeatMode == .all })
            device.control(.otherSender(.jump(2)))
            #expect(await eventually { await watch.last?.loaded == b.token })
            #expect(await eventually { await watch.last?.media == .playing })
            #expect(await device.record().loads.count == 1)
        }
    }

    @Test("C10 repeat is set in every mode, and read back")
    func repeats() async throws {
        try await withDevice { _, session, watch in
            try await Self.load(Self.item("a"), in: session)
            for mode in [RepeatMode.all, .one, .off] {
                #expect(try await session.perform(.setRepeat(mode)) == .succeeded)
                #expect(await eventually { await watch.last?.repeatMode == mode })
            }
        }
    }

    @Test("C10 a device that never tells of its queue holds up nothing, and is asked no more after the second time")
    func silentQueue() async throws {
        try await withDevice {
            $0.faults.ignoresQueueQuestions = true
        } _: { device, session, watch in
            try await Self.load(Self.item("a"), in: session)
            for code in [RouterError.Code.timeout, .unsupported] {
                let error = await #expect(throws: RouterError.self) {
                    try await session.setUpcoming([Self.item("b")])
                }
                #expect(error?.code == code)
                // Far below the 8 s of a request: what it was asked is still unanswered.
                #expect(error?.message.contains("what it holds") == true)
            }
            #expect(try await session.perform(.pause) == .succeeded)
            #expect(await eventually { await watch.last?.media == .paused })
            #expect(await device.record().loads.count == 1)
        }
    }

    // MARK: Rate, tracks, ads, live

    @Test("C14 the rate is set and told, within its range") func rate() async throws {
        try await withDevice { device, session, watch in
            try await Self.load(Self.item("a"), in: session)
            #expect(try await session.perform(.setRate(1.5)) == .succeeded)
            #expect(await eventually { await watch.last?.rate == 1.5 })
            #expect(await eventually { await watch.last?.position?.rate == 1.5 })
            #expect(await device.record().events("rate").last?["rate"]?.double == 1.5)
            // What is outside of the range is brought into it.
            #expect(try await session.perform(.setRate(9)) == .succeeded)
            #expect(await eventually { await watch.last?.rate == 2 })
        }
    }

    @Test("C12 tracks go out with the load, are chosen by their language, and off; one that is not there is refused")
    func tracks() async throws {
        try await withDevice { device, session, watch in
            var film = Self.item("film")
            film.tracks = ["de", "en"].enumerated().map { (place: Int, language: String) in
                PullTrack(
                    id: place + 1, kind: .text, subtype: .subtitles, language: language, name: language,
                    url: "http://127.0.0.1:9/\(language).vtt", contentType: "text/vtt", isInband: false)
            }
            film.tracks.append(PullTrack(id: 1000, kind: .audio, language: "fr", isInband: true))
            film.activeTracks = [1]
            try await Self.load(film, in: session)
            let request = try #require(await device.record().loads.first?.request)
            #expect(request["activeTrackIds"]?.array?.compactMap(\.int) == [1])
            let sent = try #require(request["media"]?["tracks"]?.array)
            #expect(sent.compactMap { $0["trackId"]?.int } == [1, 2, 1000])
            #expect(sent.compactMap { $0["type"]?.string } == ["TEXT", "TEXT", "AUDIO"])
            #expect(sent[0]["subtype"]?.string == "SUBTITLES")
            #expect(sent[0]["trackContentId"]?.string == "http://127.0.0.1:9/de.vtt")
            #expect(await eventually { await watch.last?.activeTracks == [1] })
            let english = try #require(await watch.last?.tracks?.first { $0.kind == .text && $0.language == "en" }?.id)
            #expect(try await session.perform(.selectTracks([english])) == .succeeded)
            #expect(await eventually { await watch.last?.activeTracks == [english] })
            #expect(try await session.perform(.selectTracks([])) == .succeeded)
            #expect(await eventually { await watch.last?.activeTracks ?? [] == [] })
            #expect(Self.refusal(try await session.perform(.selectTracks([7])))?.hint != nil)
        }
    }

    @Test(
        "C15 an ad is told with its countdown, and skipped when it may be, not before",
        .enabled(if: PeerProgram.absence == nil, "\(PeerProgram.absence ?? "")"))
    func ads() async throws {
        // Clips are fetched, so that there must be something to fetch.
        let file = try SoundFile(seconds: 60)
        let server = try PeerProgram("range_file_server.py", [file.path, "audio/x-wav"])
        let url = "http://127.0.0.1:\(try await server.start())/media"
        try await withDevice {
            $0.playsSilence = false
        } _: { _, session, watch in
            var (first, film) = (Self.item("first"), Self.item("film"))
            // The later one is what an address without our mark means.
            first.url = url
            film.url = url
            try await Self.load(first, in: session)
            try await session.setUpcoming([film])
            // Another sender plays our next item, with an ad of its own.
            try await CastControl.with(session.descriptor.endpoint) { control in
                var item = CastLoadItem()
                item.mediaJSON = #"""
                    {"contentId":"URL","contentType":"audio/x-wav","duration":60,
                     "breaks":[{"id":"b","position":0,"breakClipIds":["c"]}],
                     "breakClips":[{"id":"c","title":"Soap","duration":20,"contentId":"URL",
                     "contentType":"audio/x-wav","whenSkippable":2}]}
                    """#.replacing("URL", with: url)
                try await control.load(item)
            }
            #expect(await eventually { await watch.last?.loaded == film.token })
            #expect(await eventually { await watch.last?.adBreak?.clipTitle == "Soap" })
            let ad = try #require(await watch.last?.adBreak)
            #expect(ad.breakID == "b" && ad.clipID == "c")
            #expect((ad.remaining?.seconds ?? 0) > 10)
            #expect((ad.skippableIn?.seconds ?? 0) > 0)
            #expect(ad.skippableIn(at: ad.instant + 2_000_000_000) == .zero)
            #expect(try await session.perform(.skipAd) == .denied)
            #expect(await eventually { (try? await session.perform(.skipAd)) == .succeeded })
            #expect(await eventually { await watch.last?.adBreak == nil })
        }
        await server.stop()
        withExtendedLifetime(file) {}
    }

    @Test("C11 a live stream begins where it is live, tells its window, and without one refuses a seek in words")
    func live() async throws {
        try await withDevice {
            $0.liveWindow = 20
        } _: { device, session, watch in
            try await Self.load(Self.item("radio", live: true), in: session)
            let request = try #require(await device.record().loads.first?.request)
            #expect(request["media"]?["streamType"]?.string == "LIVE")
            #expect(request["currentTime"] == nil)
            #expect(await eventually { await watch.last?.liveWindow != nil })
            let window = try #require(await watch.last?.liveWindow)
            #expect(window.moving && !window.done && window.end >= MediaTime(seconds: 20))
            #expect((await watch.last?.position?.time.seconds ?? 0) >= 19)
            #expect(try await session.perform(.seek(to: MediaTime(seconds: 15), resume: true)) == .succeeded)
            #expect(Self.refusal(try await session.perform(.setRate(2)))?.code == .unsupported)
        }
        try await withDevice { device, session, watch in
            try await Self.load(Self.item("radio", live: true), in: session)
            let error = Self.refusal(try await session.perform(.seek(to: .zero, resume: true)))
            #expect(error?.code == .unsupported)
            #expect(error?.message.contains("seeking") == true && error?.hint?.contains("live") == true)
            #expect(Self.refusal(try await session.perform(.pause))?.code == .unsupported)
            #expect(await device.record().seeks.isEmpty)
            #expect(await device.record().pauses.isEmpty)
            #expect(await watch.last?.liveWindow == nil)
            #expect(try await session.perform(.stop) == .succeeded)
        }
    }

    // MARK: Volume

    @Test("C17 the level of the stream is beside that of the device; what plays not takes none")
    func streamVolume() async throws {
        try await withDevice {
            $0.volume = 0.5
        } _: { device, session, watch in
            let wanted = VolumeState(level: VolumePosition(0.25), muted: true)
            let error = await #expect(throws: RouterError.self) { try await session.setStreamVolume(wanted) }
            #expect(error?.code == .unavailable)
            try await Self.load(Self.item("a"), in: session)
            try await session.setStreamVolume(wanted)
            #expect(await eventually { await watch.last?.streamVolume == wanted })
            #expect(await watch.last?.volume?.level == VolumePosition(0.5))
            #expect(await device.record().level == 0.5)
        }
    }

    @Test("C17 C21 a device that refuses the level of the stream says so") func streamVolumeRefused() async throws {
        try await withDevice {
            $0.faults.mediaCommandFails = "NOT_SUPPORTED"
        } _: { _, session, _ in
            try await Self.load(Self.item("a"), in: session)
            let error = await #expect(throws: RouterError.self) {
                try await session.setStreamVolume(VolumeState(level: VolumePosition(0.25)))
            }
            #expect(error?.code == .unsupported && error?.hint != nil)
        }
    }

    @Test(
        "C17 fixed and master volumes: the one is refused, the other set",
        arguments: [SimulatedCastConfiguration.VolumeControl.fixed, .master])
    func volumeKinds(kind: SimulatedCastConfiguration.VolumeControl) async throws {
        try await withDevice {
            $0.volumeControl = kind
            $0.volumeStep = 0.1
        } _: { device, session, _ in
            let wanted = VolumeState(level: VolumePosition(0.3))
            if kind == .fixed {
                #expect(session.descriptor.volume.handling == .fixed)
                #expect(!session.descriptor.capabilities.has(.volumeDevice))
                let error = await #expect(throws: RouterError.self) { try await session.setVolume(wanted) }
                #expect(error?.code == .unsupported && error?.hint != nil)
                #expect(await device.record().level == 1)
            } else {
                #expect(session.descriptor.volume.handling == .adjustable)
                #expect(session.descriptor.volume.step == 0.1)
                try await session.setVolume(wanted)
                #expect(await device.record().level == 0.3)
            }
        }
    }

    // MARK: What the screen shows

    @Test("C8 metadata goes out by its type, with the fields that the type knows") func metadata() async throws {
        try await withDevice { device, session, _ in
            var episode = Self.item("e")
            episode.metadata = MediaMetadata(
                kind: .episode, title: "Pilot", artist: "Nobody", duration: MediaTime(seconds: 60))
            episode.metadata.seriesTitle = "Series"
            episode.metadata.season = 2
            episode.metadata.episode = 3
            try await Self.load(episode, in: session)
            let sent = try #require(await device.record().loads.first?.request["media"]?["metadata"])
            #expect(sent["metadataType"]?.int == 2)
            #expect(sent["seriesTitle"]?.string == "Series")
            #expect(sent["season"]?.int == 2 && sent["episode"]?.int == 3)
            #expect(sent["artist"] == nil)
        }
    }

    private struct Nothing: ImageChoosing {
        func image(for use: ImageUse, size: ImageSize, of metadata: MediaMetadata) -> MediaImage? { nil }
    }

    private struct Resizing: ImageChoosing {
        func image(for use: ImageUse, size: ImageSize, of metadata: MediaMetadata) -> MediaImage? {
            MediaImage(url: "http://127.0.0.1:9/\(use.rawValue)-\(size.width)x\(size.height).jpg")
        }
    }

    @Test("C18 the picture for a whole screen comes first, as the chooser has it") func images() async throws {
        let small = MediaImage(url: "http://127.0.0.1:9/small.jpg", width: 100, height: 100)
        let large = MediaImage(url: "http://127.0.0.1:9/large.jpg", width: 1920, height: 1080)
        func sent(_ chooser: any ImageChoosing) async throws -> [String] {
            var urls: [String] = []
            try await withDevice(images: chooser) { device, session, _ in
                var item = Self.item("a")
                item.metadata.images = [small, large]
                try await Self.load(item, in: session)
                let images = await device.record().loads.first?.request["media"]?["metadata"]?["images"]?.array
                urls = (images ?? []).compactMap { $0["url"]?.string }
            }
            return urls
        }
        #expect(try await sent(FittingImage()) == [large.url, small.url])
        #expect(try await sent(FirstImage()) == [small.url, large.url])
        #expect(try await sent(Nothing()) == [])
        #expect(
            try await sent(Resizing()) == ["http://127.0.0.1:9/expanded-1280x720.jpg", small.url, large.url])
    }
}
