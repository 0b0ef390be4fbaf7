import ArgumentParser
import RouteModel
import Testing

@testable import RouterCommands

@Suite("C5 router session")
struct SessionTests {
    private func session(_ id: String) -> RejoinableSession {
        let item = QueueItem(
            id: ItemID(rawValue: "2"), source: .file(path: "/b.flac"), metadata: MediaMetadata(title: "Second"))
        let first = QueueItem(id: ItemID(rawValue: "1"), source: .file(path: "/a.flac"))
        return RejoinableSession(
            id: SessionID(rawValue: id), rooms: ["Kitchen", "Den"],
            queue: QueueSnapshot(version: 1, items: [first, item], current: item.id),
            position: MediaTime(seconds: 83), playing: true)
    }

    @Test("a row says where, what and how far")
    func row() {
        #expect(session("se-1").row == ["se-1", "Kitchen, Den", "Second", "1:23", "2/2", "was playing"])
        #expect(session("se-1").quietValue == "se-1")
    }

    @Test("the only one needs no id; the beginning of one is enough; what is not clear is told")
    func choice() throws {
        let two = [session("se-12"), session("se-123"), session("se-2")]
        #expect(try SessionChoice.one(nil, of: [two[0]]).id == two[0].id)
        #expect(try SessionChoice.one("se-2", of: two).id == two[2].id)
        // An id that begins another is itself.
        #expect(try SessionChoice.one("se-12", of: two).id == two[0].id)
        for (text, code) in [(nil, RouterError.Code.routeAmbiguous), ("se-1", .routeAmbiguous), ("x", .routeNotFound)] {
            do {
                _ = try SessionChoice.one(text, of: two)
                Issue.record("\(text ?? "nothing") chose one")
            } catch let error as RouterError {
                #expect(error.code == code)
                #expect(error.hint != nil && error.candidates.count >= 2)
            }
        }
        #expect(throws: RouterError.self) { try SessionChoice.one(nil, of: []) }
        // Nothing is the beginning of all, and means none, not even the only one.
        #expect(throws: UsageError.self) { try SessionChoice.one("", of: [two[0]]) }
    }

    @Test("C6 move says where to, by room or by device")
    func move() throws {
        func parsed(_ arguments: [String]) throws -> SessionMoveCommand? {
            try RouterCommand.parseAsRoot(["session", "move"] + arguments) as? SessionMoveCommand
        }
        #expect(throws: (any Error).self) { try parsed([]) }
        #expect(throws: (any Error).self) { try parsed(["se-1"]) }
        #expect(try parsed(["se-1", "--to", "Kitchen", "--to", "Bath"])?.to == ["Kitchen", "Bath"])
        #expect(try parsed(["--device", "cast://192.168.1.21"])?.to.isEmpty == true)
    }

    @Test("C6 a session that was cut short is joined before it moves, and what is over is not meant")
    func moveCutShort() async throws {
        var old = SampleHouse.session("se-old", ["Kitchen"], media: .stopped)
        old.connection = .ended
        var failed = SampleHouse.session("se-failed", ["Kitchen"], media: .stopped)
        failed.connection = .failed
        var cut = SampleHouse.session("se-cut", ["Kitchen", "Den"])
        cut.connection = .suspended
        var script = SampleHouse.script([old, failed, cut])
        script.left = [session("se-cut")]
        script.played = .success(cut)
        let run = try await VerbRun(["session", "move", "--to", "Den"], script)
        #expect(run.router.rejoined == [cut.id])
        #expect(run.router.transfers == [TransferRequest(.move, session: cut.id, rooms: ["Den"])])
        let plays = SampleHouse.session("se-plays", ["Kitchen"])
        script.sessions = [old, failed, plays]
        script.left = []
        let live = try await VerbRun(["session", "move", "--to", "Den"], script)
        #expect(live.router.rejoined.isEmpty && live.router.transfers.map(\.session) == [plays.id])
    }

    @Test("C14 C12 C15 keys for speed, subtitles and ads")
    func keys() {
        #expect(PlayerKey.parse("[]at".utf8) == [.slower, .faster, .skipAd, .nextText])
        #expect(PlayerKey.skipAd.command == .skipAd)
    }
}
