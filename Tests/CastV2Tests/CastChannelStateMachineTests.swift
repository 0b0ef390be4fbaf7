import CastV2
import Testing

private let second: Int64 = 1_000_000_000

@Suite struct CastChannelStateMachineTests {
    typealias Action = CastChannelStateMachine.Action

    private func opened(_ timeouts: CastTimeouts = CastTimeouts()) -> CastChannelStateMachine {
        var machine = CastChannelStateMachine(
            sourceID: "me", sender: CastSender(userAgent: "test"), timeouts: timeouts, now: 0)
        _ = machine.opened(now: 0)
        return machine
    }

    private func message(
        _ text: String, from source: String = "receiver-0", to destination: String = "me",
        in namespace: String = CastNamespace.receiver
    ) -> CastMessage {
        CastMessage(sourceID: source, destinationID: destination, namespace: namespace, payload: .text(text))
    }

    private func media(_ text: String, to destination: String = "me", from source: String = "app") -> CastMessage {
        message(text, from: source, to: destination, in: CastNamespace.media)
    }

    private func sent(_ actions: [Action]) -> [String] {
        actions.compactMap {
            guard case .send(let message) = $0, let json = message.text.flatMap(CastJSON.init(text:)) else {
                return nil
            }
            return "\(json["type"].string ?? "?")>\(message.destinationID)"
        }
    }

    private func finished(_ actions: [Action]) -> [CastRequestID: CastRequestResult] {
        var results: [CastRequestID: CastRequestResult] = [:]
        for case .finish(let id, let result) in actions {
            #expect(results[id] == nil, "request \(id) ended twice")
            results[id] = result
        }
        return results
    }

    private let running = #"{"appId":"CC1AD845","sessionId":"s","transportId":"app"}"#
    private func status(_ apps: String, id: Int) -> CastMessage {
        message(
            #"{"type":"RECEIVER_STATUS","requestId":\#(id),"status":{"applications":[\#(apps)]}}"#,
            to: id == 0 ? "*" : "me")
    }

    // MARK: Connections

    @Test("CONNECT comes once, before anything else, for each destination")
    func connects() {
        var machine = CastChannelStateMachine(sourceID: "me", sender: CastSender(userAgent: "test"), now: 0)
        #expect(
            sent(machine.request(.receiver(.getStatus), now: 0).actions) == [
                "CONNECT>receiver-0", "GET_STATUS>receiver-0",
            ])
        _ = machine.opened(now: 1)
        #expect(sent(machine.request(.receiver(.getStatus), now: 1).actions) == ["GET_STATUS>receiver-0"])
        let load = CastRequest.media(.getStatus, transport: "app", session: "s")
        #expect(sent(machine.request(load, now: 1).actions) == ["CONNECT>app", "GET_STATUS>app"])
        #expect(sent(machine.connect(to: "app", now: 1)) == [])
        #expect(sent(machine.disconnect(from: "app", now: 1)) == ["CLOSE>app"])
        #expect(sent(machine.disconnect(from: "app", now: 1)) == [])
    }

    @Test("an empty destination is never talked to")
    func emptyDestination() {
        var machine = opened()
        let (id, actions) = machine.request(.media(.getStatus, transport: "", session: nil), now: 0)
        #expect(actions == [.finish(id, .failed(.unsendable(.missingAddress)))])
        #expect(machine.connect(to: "", now: 0) == [])
    }

    @Test("a CLOSE of an app ends what was asked of it, a CLOSE of the platform everything")
    func closes() {
        var machine = opened()
        let (one, _) = machine.request(.media(.getStatus, transport: "app", session: nil), now: 0)
        let (two, _) = machine.request(.receiver(.getStatus), now: 0)
        let close = #"{"type":"CLOSE"}"#
        let actions = machine.received(message(close, from: "app", in: CastNamespace.connection), now: 1)
        #expect(finished(actions) == [one: .failed(.appClosed)])
        let last = machine.received(message(close, in: CastNamespace.connection), now: 2)
        #expect(
            last == [
                .deliver(.close(reasonCode: nil), source: "receiver-0"),
                .finish(two, .failed(.connectionLost(.closedByPeer))), .disconnect(.closedByPeer),
            ])
        #expect(machine.nextDeadline == nil)
    }

    @Test("messages to somebody else are not ours")
    func otherDestinations() {
        var machine = opened()
        let (id, _) = machine.request(.receiver(.getStatus), now: 0)
        let text = #"{"type":"RECEIVER_STATUS","requestId":\#(id)}"#
        #expect(machine.received(message(text, to: "another-sender"), now: 0) == [])
        #expect(machine.pendingRequests == 1)
    }

    // MARK: Heartbeat

    @Test("PING after six seconds without traffic, dead after sixteen; anything heard resets both")
    func heartbeat() {
        var machine = opened()
        #expect(machine.nextDeadline == 6 * second)
        #expect(machine.timePassed(now: 5 * second) == [])
        #expect(sent(machine.timePassed(now: 6 * second)) == ["PING>receiver-0"])
        #expect(machine.nextDeadline == 12 * second)
        // Not a heartbeat, not even understood: heard all the same.
        _ = machine.received(message("?", in: "urn:x-cast:else"), now: 9 * second)
        #expect(machine.timePassed(now: 16 * second).contains(.disconnect(.silent)) == false)
        #expect(machine.nextDeadline == 22 * second)
        _ = machine.timePassed(now: 22 * second)
        #expect(machine.timePassed(now: 25 * second) == [.disconnect(.silent)])
        #expect(machine.phase == .closed(.silent))
    }

    @Test("a device that talks all the time still hears from us")
    func heartbeatOfATalkativeDevice() {
        var machine = opened()
        for time in 1...5 { _ = machine.received(message("{}"), now: Int64(time) * second) }
        #expect(machine.nextDeadline == 6 * second)
        #expect(sent(machine.timePassed(now: 6 * second)) == ["PING>receiver-0"])
        #expect(machine.nextDeadline.map { $0 > 6 * second } == true)
    }

    @Test("PING is answered, wherever it was sent to")
    func answersPing() {
        var machine = opened()
        let ping = message(
            #"{"type":"PING","requestId":3}"#, from: "Tr@n$p0rt-0", to: "Tr@n$p0rt-0", in: CastNamespace.heartbeat)
        #expect(sent(machine.received(ping, now: 0)) == ["PONG>Tr@n$p0rt-0"])
        let nobody = message(#"{"type":"PING"}"#, from: "", to: "", in: CastNamespace.heartbeat)
        #expect(sent(machine.received(nobody, now: 0)) == ["PONG>receiver-0"])
        #expect(machine.received(message(#"{"type":"PONG"}"#, in: CastNamespace.heartbeat), now: 0) == [])
    }

    // MARK: Requests (C7)

    @Test(
        "C7 each kind of answer ends a request in its own way",
        arguments: [
            (#"{"type":"MEDIA_STATUS","requestId":1,"status":[]}"#, CastRequestResult.completed(.mediaStatus([]))),
            (#"{"type":"INVALID_REQUEST","requestId":1,"reason":"R"}"#, .failed(.invalidRequest(reason: "R"))),
            (#"{"type":"INVALID_PLAYER_STATE","requestId":"1"}"#, .failed(.invalidPlayerState)),
            (
                #"{"type":"ERROR","requestId":1,"detailedErrorCode":905}"#,
                .failed(.mediaError(CastMediaFailure(code: 905)))
            ),
        ])
    func answers(text: String, result: CastRequestResult) {
        var machine = opened()
        let (id, _) = machine.request(.media(.pause(mediaSessionID: 1), transport: "app", session: "s"), now: 0)
        #expect(id == 1)
        let actions = machine.received(media(text), now: 1)
        #expect(finished(actions) == [1: result])
        // The news comes before the result.
        guard case .deliver = actions.first else {
            Issue.record("nothing delivered")
            return
        }
        // The same answer once more: news, and no second result.
        #expect(finished(machine.received(media(text), now: 2)) == [:])
    }

    @Test("C7 answers that fit no request change none")
    func strangeAnswers() {
        var machine = opened()
        _ = machine.request(.media(.pause(mediaSessionID: 1), transport: "app", session: "s"), now: 0)
        for stranger in [
            media(#"{"type":"MEDIA_STATUS","requestId":77,"status":[]}"#),
            media(#"{"type":"MEDIA_STATUS","status":[]}"#),
            media(#"{"type":"MEDIA_STATUS","requestId":0,"status":null}"#, to: "*"),
            media(#"{"type":"MEDIA_STATUS","requestId":1,"status":[]}"#, from: "another app"),
            media(#"{"type":"LOAD_FAILED","requestId":1}"#),
            media(#"{"type":"LOAD_CANCELLED","requestId":1}"#),
            message(#"{"type":"RECEIVER_STATUS","requestId":1,"status":{}}"#),
            message(#"{"type":"LAUNCH_ERROR","requestId":1}"#),
            message(#"{"type":"INVALID_REQUEST","requestId":1}"#),
            message(#"{"type":"LAUNCH_STATUS","launchRequestId":1,"status":"USER_NOT_ALLOWED"}"#),
            media("not JSON"),
        ] {
            #expect(finished(machine.received(stranger, now: 1)) == [:])
        }
        #expect(machine.pendingRequests == 1)
    }

    @Test("C7 a newer LOAD, SEEK or volume takes the place of the older one")
    func replaced() {
        let media: (CastMediaRequest) -> CastRequest = { .media($0, transport: "app", session: nil) }
        let load = CastLoad(media: CastMediaInformation(contentID: "u", contentType: "audio/mp4"))
        for (old, new, replaces) in [
            (media(.load(load)), media(.load(load)), true),
            (
                media(.seek(mediaSessionID: 1, position: 1, resume: nil)),
                media(.seek(mediaSessionID: 1, position: 2, resume: nil)), true
            ),
            (.receiver(.setVolume(level: 0.1)), .receiver(.setVolume(level: 0.2)), true),
            (.receiver(.setVolume(level: 0.1)), .receiver(.setMuted(true)), false),
            (media(.setVolume(mediaSessionID: 1, level: 1)), .receiver(.setVolume(level: 0.2)), false),
            (media(.play(mediaSessionID: 1)), media(.pause(mediaSessionID: 1)), false),
            (media(.load(load)), .media(.load(load), transport: "another", session: nil), false),
        ] as [(CastRequest, CastRequest, Bool)] {
            var machine = opened()
            let (id, _) = machine.request(old, now: 0)
            let (_, actions) = machine.request(new, now: 0)
            #expect(finished(actions) == (replaces ? [id: .replaced] : [:]))
        }
    }

    @Test(
        "C7 LOAD: failed, cancelled by another, failed without an id",
        arguments: [
            (
                #"{"type":"LOAD_FAILED","requestId":1,"detailedErrorCode":104}"#,
                CastRequestResult.failed(.loadFailed(CastMediaFailure(code: 104)))
            ),
            (#"{"type":"LOAD_FAILED"}"#, .failed(.loadFailed(CastMediaFailure()))),
            (#"{"type":"LOAD_CANCELLED","requestId":1}"#, .replaced),
            (#"{"type":"LOAD_CANCELLED"}"#, .replaced),
        ])
    func loadEnds(text: String, result: CastRequestResult) {
        var machine = opened()
        let load = CastLoad(media: CastMediaInformation(contentID: "u", contentType: "audio/mp4"))
        _ = machine.request(.media(.load(load), transport: "app", session: nil), now: 0)
        #expect(finished(machine.received(media(text), now: 1)) == [1: result])
    }

    @Test("C7 what is not answered times out, each kind after its own time")
    func timeouts() {
        for (request, limit) in [
            (.receiver(.getStatus), 8), (.receiver(.launch(CastLaunch(appID: "A"))), 30),
            (.receiver(.stop(sessionID: "s")), 3),
            (
                .media(
                    .load(CastLoad(media: CastMediaInformation(contentID: "u", contentType: "t"))), transport: "app",
                    session: nil), 30
            ),
        ] as [(CastRequest, Int64)] {
            var timeouts = CastTimeouts()
            timeouts.giveUpAfter = 1000 * second
            var machine = opened(timeouts)
            let (id, _) = machine.request(request, now: 0)
            #expect(finished(machine.timePassed(now: limit * second - 1)) == [:])
            #expect(finished(machine.timePassed(now: limit * second)) == [id: .failed(.timedOut)])
            // The answer comes after all.
            #expect(finished(machine.received(status(running, id: id), now: limit * second)) == [:])
        }
    }

    @Test("the time to connect does not count as time to answer")
    func deadlinesBeginWhenOpened() {
        var machine = CastChannelStateMachine(sourceID: "me", sender: CastSender(userAgent: "test"), now: 0)
        _ = machine.request(.receiver(.getStatus), now: 0)
        _ = machine.opened(now: 7 * second)
        #expect(finished(machine.timePassed(now: 14 * second)) == [:])
        #expect(finished(machine.timePassed(now: 15 * second)) == [1: .failed(.timedOut)])
    }

    @Test("C7 given up by the asker")
    func cancelled() {
        var machine = opened()
        let (id, _) = machine.request(.receiver(.getStatus), now: 0)
        #expect(machine.cancel(id) == [.finish(id, .cancelled)])
        #expect(machine.cancel(id) == [])
        #expect(finished(machine.received(status("", id: id), now: 0)) == [:])
    }

    @Test("C7 a text that no frame holds")
    func tooLong() {
        var machine = opened()
        let long = CastMediaInformation(contentID: String(repeating: "x", count: 70_000), contentType: "t")
        let (id, actions) = machine.request(
            .media(.load(CastLoad(media: long)), transport: "app", session: nil), now: 0)
        guard actions.count == 1, case .finish(id, .failed(.unsendable(.frameTooLong))) = actions[0] else {
            Issue.record("\(actions)")
            return
        }
        #expect(machine.pendingRequests == 0)
    }

    // MARK: Launch

    @Test("C3 both ways of answering LAUNCH, and the broadcast that comes first")
    func launches() {
        let allowed = message(#"{"type":"LAUNCH_STATUS","launchRequestId":1,"status":"USER_ALLOWED"}"#)
        let early = status(#"{"appId":"CC1AD845","sessionId":"s"}"#, id: 1)
        for script in [
            [status(running, id: 1)], [allowed, status(running, id: 1)], [status(running, id: 0), allowed],
            [status("", id: 0), allowed, status(running, id: 1)], [early, status(running, id: 0)],
        ] {
            var machine = opened()
            let (id, _) = machine.request(.receiver(.launch(CastLaunch(appID: "CC1AD845"))), now: 0)
            var results: [CastRequestID: CastRequestResult] = [:]
            for message in script { results.merge(finished(machine.received(message, now: 1))) { first, _ in first } }
            guard case .completed(.receiverStatus(let status)) = results[id] else {
                Issue.record("\(results)")
                continue
            }
            #expect(status.application(appID: "CC1AD845")?.transportID == "app")
        }
    }

    @Test("C3 a launch that a person must allow has longer, and is told")
    func consent() {
        var timeouts = CastTimeouts()
        timeouts.giveUpAfter = 1000 * second
        var machine = opened(timeouts)
        let (id, _) = machine.request(.receiver(.launch(CastLaunch(appID: "A"))), now: 0)
        let pending = message(
            #"{"type":"LAUNCH_STATUS","launchRequestId":\#(id),"status":"USER_PENDING_AUTHORIZATION"}"#)
        #expect(machine.received(pending, now: second).contains(.launchNeedsConsent(id)))
        #expect(finished(machine.timePassed(now: 60 * second)) == [:])
        let denied = message(#"{"type":"LAUNCH_STATUS","launchRequestId":\#(id),"status":"USER_NOT_ALLOWED"}"#)
        #expect(
            finished(machine.received(denied, now: 60 * second))
                == [id: .failed(.launchDenied(status: "USER_NOT_ALLOWED"))])
    }

    @Test("C3 LAUNCH_ERROR")
    func launchError() {
        var machine = opened()
        let (id, _) = machine.request(.receiver(.launch(CastLaunch(appID: "A"))), now: 0)
        let error = message(#"{"type":"LAUNCH_ERROR","requestId":\#(id),"reason":"NOT_FOUND"}"#)
        #expect(finished(machine.received(error, now: 0)) == [id: .failed(.launchFailed(reason: "NOT_FOUND"))])
    }

    @Test("STOP is answered by its id, or by a broadcast that no longer lists the app")
    func stops() {
        for answer in [status("", id: 1), status("", id: 0), status(running, id: 1)] {
            var machine = opened()
            _ = machine.request(.receiver(.stop(sessionID: "s")), now: 0)
            #expect(finished(machine.received(answer, now: 0)).count == 1)
        }
        var machine = opened()
        _ = machine.request(.receiver(.stop(sessionID: "s")), now: 0)
        #expect(finished(machine.received(status(running, id: 0), now: 0)).isEmpty)
    }

    // MARK: End

    @Test("closed in every state: one ending each, and nothing after it")
    func closedInEveryState() {
        for isOpen in [true, false] {
            var machine = CastChannelStateMachine(sourceID: "me", sender: CastSender(userAgent: "test"), now: 0)
            if isOpen { _ = machine.opened(now: 0) }
            let (one, _) = machine.request(.receiver(.getStatus), now: 0)
            let (two, _) = machine.request(.media(.getStatus, transport: "app", session: nil), now: 0)
            let lost = CastRequestResult.failed(.connectionLost(.refused))
            #expect(
                machine.transportClosed(.refused)
                    == [.finish(one, lost), .finish(two, lost), .disconnect(.refused)])
            #expect(machine.transportClosed(.closedByPeer) == [])
            #expect(machine.end(now: 1) == [])
            #expect(machine.timePassed(now: 1000 * second) == [])
            #expect(machine.received(status("", id: one), now: 1) == [])
            #expect(machine.connect(to: "x", now: 1) == [])
            #expect(machine.disconnect(from: "app", now: 1) == [])
            #expect(machine.opened(now: 1) == [])
            #expect(machine.phase == .closed(.refused))
            let (three, actions) = machine.request(.receiver(.getStatus), now: 1)
            #expect(actions == [.finish(three, lost)])
        }
    }

    @Test("our own end says goodbye to each, the platform last, and cancels what is pending")
    func ends() {
        var machine = opened()
        let (id, _) = machine.request(.media(.getStatus, transport: "app", session: nil), now: 0)
        _ = machine.request(.receiver(.getStatus), now: 0)
        let actions = machine.end(now: 1)
        #expect(sent(actions) == ["CLOSE>app", "CLOSE>receiver-0"])
        #expect(finished(actions)[id] == .cancelled)
        #expect(actions.last == .disconnect(.ended))
    }
}
