import RouteModel
import Testing

@testable import RouterCommands

@Suite("How a play ends: its exit status and its story")
struct OutcomeTests {
    private let lost = RouterError(.routeLost, "the connection was lost", scope: .route)
    private let refused = RouterError(.authFailed, "the password was refused", scope: .route)

    @Test("everything played: 0, and nothing to say")
    func played() {
        let outcome = PlayOutcome(Samples.session(members: [Samples.member("A"), Samples.member("B")]))
        #expect(outcome.status == 0 && outcome.error == nil && outcome.stories.isEmpty)
    }

    @Test("one room of two lost: 8, with both stories")
    func partial() {
        let outcome = PlayOutcome(Samples.session(members: [Samples.member("A"), Samples.member("B", error: lost)]))
        #expect(outcome.status == 8 && outcome.error == nil)
        #expect(outcome.stories == ["A: played", "B: failed: the connection was lost"])
    }

    @Test("a room lost weighs more than an item that failed")
    func partialAndItems() {
        let items = [Samples.item("i1", failure: "broken"), Samples.item("i2")]
        let members = [Samples.member("A"), Samples.member("B", error: lost)]
        #expect(PlayOutcome(Samples.session(items: items, members: members)).status == 8)
    }

    @Test("every room lost: the status of the first loss")
    func allLost() {
        let members = [Samples.member("A", error: refused), Samples.member("B", error: lost)]
        let outcome = PlayOutcome(Samples.session(members: members))
        #expect(outcome.status == 4 && outcome.error == refused)
        #expect(PlayOutcome(Samples.session(members: [Samples.member("A", error: lost)])).status == 5)
    }

    @Test("nothing could be played: the session's own error")
    func sessionFailed() {
        let error = RouterError(.mediaUnsupported, "that is no music")
        let outcome = PlayOutcome(Samples.session(error: error))
        #expect(outcome.status == 6 && outcome.error == error)
    }

    @Test("items that failed: 1, with each and its reason")
    func items() {
        let items = [
            Samples.item("i1"), Samples.item("i2", title: "Green", failure: "cut short"),
            Samples.item("i3", title: nil, failure: "empty"),
        ]
        let outcome = PlayOutcome(Samples.session(items: items))
        #expect(outcome.status == 1)
        #expect(outcome.error?.code == .itemFailed && outcome.error?.hint != nil)
        #expect(outcome.error?.message == "2 of 3 items did not play to their end")
        #expect(outcome.error?.causes == ["Green: cut short", "i3.flac: empty"])
    }

    @Test("items that were passed over are a notice where a daemon plays on, and an error where nothing plays")
    func passedOver() {
        let items = (1...4).map { Samples.item("i\($0)", title: "T\($0)", failure: $0 < 3 ? "broken" : nil) }
        let session = Samples.session(items: items)
        let outcome = PlayOutcome(session, goesOn: true)
        #expect(outcome.status == 0 && outcome.error == nil && outcome.notice?.severity == .warning)
        #expect(
            outcome.notice?.message
                == "2 of 4 items did not play and were passed over (T1: broken; T2: broken)")
        var over = session
        over.media = .stopped
        #expect(PlayOutcome(over, goesOn: true).status == 1 && PlayOutcome(over, goesOn: true).notice == nil)
    }

    /// The table of `interfaces.md` 1.3.
    static let statuses: [(RouterError.Code, Int32)] = [
        (.routeNotFound, 3), (.routeAmbiguous, 3), (.mediaNotFound, 3), (.authRequired, 4), (.authFailed, 4),
        (.pairingDenied, 4), (.routeUnreachable, 5), (.routeLost, 5), (.mediaUnreachable, 5), (.mediaForbidden, 5),
        (.timeout, 5), (.unsupported, 6), (.unavailable, 6), (.mediaUnsupported, 6), (.daemonUnavailable, 7),
        (.routeBusy, 1), (.queueConflict, 1), (.commandSuperseded, 1), (.rateLimited, 1), (.itemFailed, 1),
        (.protocolViolation, 1), (.sceneInvalid, 65), (.internal, 70), (.storage, 70), (.configuration, 78),
        (.dependencyMissing, 78), (.cancelled, 130), (.init(rawValue: "ofTheFuture"), 1),
    ]

    @Test("exit statuses are part of the contract", arguments: statuses)
    func status(_ code: RouterError.Code, _ status: Int32) {
        #expect(code.exitStatus == status)
    }
}
