import RouteModel
import RouterTestKit
import Testing

@testable import SceneScript

@Suite struct SceneRestoreTests {
    private static let everywhere = "version: 1\nname: Test\ntargets: {all: [Kitchen, Bath, Attic]}\nsteps:\n"

    /// Takes a snapshot of three rooms, plays something else in all, and restores it.
    private static let doorbell =
        everywhere + """
              - {snapshot: before, target: all}
              - {play: bell.wav, target: all}
              - restore: before

            """

    private func playing(_ rig: SceneRig, _ what: [(String, [String])]) async throws {
        for (room, media) in what {
            _ = try await rig.house.play(PlayRequest(what: media, rooms: [room], workingDirectory: "/m"))
        }
        await rig.house.forgetCalls()
    }

    @Test("R4 what cannot be brought back in one room is told, and the others are brought back all the same")
    func goesOn() async throws {
        let rig = SceneRig(["Kitchen", "Bath", "Attic"])
        try await rig.run {
            try await playing(rig, [("Kitchen", ["a.mp3"]), ("Bath", ["b.mp3"]), ("Attic", ["c.mp3"])])
            await rig.house.fails("play /m/a.mp3", RouterError(.mediaNotFound, "a.mp3 is gone"))
            await rig.house.fails("volume 50% Bath", RouterError(.routeLost, "no answer"))
            await rig.house.fails("volume 50%", RouterError(.routeLost, "no answer"))
            let ended = try await rig.ended(try await rig.start(Self.doorbell))
            #expect(ended.state == .partial && ended.results.last == "steps[2] done", "\(ended.steps)")
            let detail = ended.steps[2].detail ?? ""
            #expect(detail.contains("what played in Kitchen: a.mp3 is gone"), "\(detail)")
            #expect(detail.contains("the volume of Bath: no answer"), "\(detail)")
            #expect(await rig.house.session("Bath")?.currentItem?.title == "b.mp3")
            #expect(await rig.house.session("Attic")?.currentItem?.title == "c.mp3")
        }
    }

    @Test("R4 a room that cannot be taken out or in keeps no queue from being brought back") func membership()
        async throws
    {
        let rig = SceneRig(["Kitchen", "Bath", "Attic"])
        try await rig.run {
            try await playing(rig, [("Kitchen", ["a.mp3"])])
            await rig.house.fails("end", RouterError(.routeLost, "Bath is gone"))
            await rig.house.fails("leave", RouterError(.routeLost, "Bath is gone"))
            let ended = try await rig.ended(try await rig.start(Self.doorbell))
            #expect(ended.state == .partial, "\(ended.steps)")
            #expect(ended.steps[2].detail?.contains("Bath is gone") == true)
            #expect(await rig.house.session("Kitchen")?.currentItem?.title == "a.mp3")
        }
    }

    @Test("R4 where nothing at all could be brought back, restore fails") func nothing() async throws {
        let rig = SceneRig(["Kitchen", "Bath", "Attic"])
        try await rig.run {
            try await playing(rig, [("Kitchen", ["a.mp3"]), ("Bath", ["b.mp3"]), ("Attic", ["c.mp3"])])
            await rig.house.fails("play /m/", RouterError(.mediaNotFound, "it is gone"), times: 3)
            let ended = try await rig.ended(try await rig.start(Self.doorbell))
            #expect(ended.state == .failed && ended.steps[2].error?.code == .mediaNotFound, "\(ended.steps)")
        }
    }

    @Test("R4 a restore that is cancelled is cancelled, and no loss") func cancelled() async throws {
        let rig = SceneRig(["Kitchen", "Bath", "Attic"])
        try await rig.run {
            try await playing(rig, [("Kitchen", ["a.mp3"])])
            await rig.house.hangs("play /m/a.mp3")
            let run = try await rig.start(Self.doorbell)
            try #require(
                try await eventually {
                    try await rig.host.sceneRun(run.id).steps.contains { $0.verb == "restore" && $0.result == .running }
                })
            try await rig.host.cancelScene(run.id)
            let ended = try await rig.ended(run)
            #expect(ended.state == .cancelled && ended.steps[2].result == .cancelled)
        }
    }

    @Test("R4 where a station plays, it plays again: it has no place to go back to") func station() async throws {
        let rig = SceneRig(["Kitchen", "Bath", "Attic"])
        try await rig.run {
            try await playing(rig, [("Kitchen", ["http://x/station"]), ("Bath", ["http://x/station2"])])
            _ = await rig.clock.pass(step: 5) { rig.clock.now() > 30_000_000_000 }
            let ended = try await rig.ended(
                try await rig.start(
                    """
                    version: 1
                    name: Test
                    targets: {kitchen: Kitchen, bath: Bath}
                    steps:
                      - {snapshot: before, target: [kitchen, bath]}
                      - {pause: , target: kitchen}
                      - {play: bell.wav, target: bath}
                      - restore: before
                    """))
            #expect(ended.state == .done, "\(ended.steps)")
            #expect(ended.steps[3].detail == nil)
            #expect(await rig.house.session("Kitchen")?.media == .playing)
            #expect(await rig.house.session("Bath")?.currentItem?.source == .url("http://x/station2"))
            #expect(await !rig.house.calls.contains { $0.hasPrefix("seek") })
        }
    }

    @Test("R4 what items say of themselves is said again where something else was played, and what cannot be is told")
    func items() async throws {
        let rig = SceneRig(["Kitchen", "Bath", "Attic"])
        try await rig.run {
            let german = SubtitleRequest(language: "de")
            let session = try await rig.house.play(
                PlayRequest(what: ["a.mp4", "b.mp4"], rooms: ["Kitchen"], workingDirectory: "/m", subtitles: german))
            let ids = session.queue.items.map(\.id)
            for (id, settings) in [
                (ids[0], QueueItemSettings(externalPlayback: false, custom: "{}")),
                (ids[1], QueueItemSettings(start: MediaTime(seconds: 3), end: MediaTime(seconds: 60))),
            ] {
                _ = try await rig.house.edit(
                    .settings([id], settings), session: session.id, ifVersion: nil, workingDirectory: "/")
            }
            let before = try #require(await rig.house.session("Kitchen"))
            let ended = try await rig.ended(try await rig.start(Self.doorbell))
            #expect(ended.state == .done, "\(ended.steps)")
            let after = try #require(await rig.house.session("Kitchen"))
            func said(_ item: QueueItem) -> QueueItem {
                var item = item
                item.id = ids[0]
                item.externalPlayback = item.externalPlayback ?? true
                return item
            }
            #expect(after.id != before.id)
            #expect(after.queue.items.map(said) == before.queue.items.map(said))
            #expect(ended.steps[2].detail == nil)
        }
    }

    @Test("R4 what a playlist called its items they are called again, also those before and after what played")
    func titles() async throws {
        let rig = SceneRig(["Kitchen", "Bath", "Attic"])
        try await rig.run {
            let session = try await rig.house.play(
                PlayRequest(what: ["a.mp3", "b.mp3", "c.mp3"], rooms: ["Kitchen"], workingDirectory: "/m"))
            let ids = session.queue.items.map(\.id)
            _ = try await rig.house.edit(
                .describe(
                    ids.enumerated().map { number, id in
                        ItemDescription(
                            item: id,
                            metadata: MediaMetadata(
                                kind: .music, title: "Title \(number)", artist: "Artist \(number)",
                                duration: MediaTime(seconds: 100 + Double(number))), context: "My list")
                    }), session: session.id, ifVersion: nil, workingDirectory: "/")
            _ = try await rig.house.perform(.jump(ids[1]), session: session.id, origin: .cli)
            let before = try #require(await rig.house.session("Kitchen"))
            let ended = try await rig.ended(try await rig.start(Self.doorbell))
            #expect(ended.state == .done && ended.steps[2].detail == nil, "\(ended.steps)")
            let after = try #require(await rig.house.session("Kitchen"))
            #expect(after.id != before.id && after.currentItem?.metadata.title == "Title 1")
            #expect(after.queue.items.map(\.metadata) == before.queue.items.map(\.metadata))
            #expect(after.queue.items.map(\.context) == ["My list", "My list", "My list"])
        }
    }

    @Test("R4 repeat and what is done with items that fail are as they were, also where the queue was left alone")
    func modes() async throws {
        let rig = SceneRig(["Kitchen", "Bath", "Attic"])
        try await rig.run {
            let session = try await rig.house.play(
                PlayRequest(
                    what: ["a.mp3"], rooms: ["Kitchen"], workingDirectory: "/m", repeatMode: .all, failurePolicy: .stop)
            )
            await rig.house.forgetCalls()
            let run = try await rig.start(
                Self.everywhere + """
                      - {snapshot: before, target: all}
                      - {queue: {repeat: off}, target: all}
                      - delay: 5s
                      - restore: before

                    """)
            try #require(
                try await eventually {
                    try await rig.host.sceneRun(run.id).steps.contains { $0.verb == "delay" && $0.result == .running }
                })
            _ = try await rig.house.edit(
                .failurePolicy(.retry(2)), session: session.id, ifVersion: nil, workingDirectory: "/")
            let ended = try await rig.ended(run)
            #expect(ended.state == .done, "\(ended.steps)")
            let queue = try #require(await rig.house.session("Kitchen")).queue
            #expect(queue.repeatMode == .all && queue.failurePolicy == .stop)
        }
    }
}
