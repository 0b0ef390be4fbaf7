import Foundation
import RouteModel
import RouterDaemon

/// Follows one device from its records to its sound.
struct DeviceDoctor: Sendable {
    let control: any RouterControlling
    let silent: Bool
    /// Told what takes time, before it does.
    var phase: @Sendable (String) -> Void = { _ in }
    /// Seconds that a tone may take to be over: the longest way is a device that has to be waited for at each port.
    private static let patience = 40.0
    /// Milliseconds that a packet may leave late and still be heard: receivers hold a quarter of a second at least.
    private static let lateness = 250
    /// The part of packets asked for again from which the way is a bad one.
    private static let lossyPart = 0.02

    /// - Parameter stated: the device is named by URI, and need not be found.
    func discovery(stated: Bool) async -> [Finding] {
        guard let list = try? await control.routes(settle: true) else { return [] }
        var findings = list.discovery.map { state in
            state.status == .unavailable
                ? Finding(
                    "discovery", stated ? .warning : .failed,
                    "\(state.source): \(state.message ?? "does not work here")", cure: state.hint,
                    code: .dependencyMissing)
                : Finding("discovery", .ok, "\(state.source) works")
        }
        guard !list.discovery.contains(where: { $0.status == .unavailable }) else { return findings }
        let count = list.routes.count { route in route.endpoints.contains { $0.origin == .discovered } }
        findings.append(
            count == 0
                ? Finding(
                    "devices", stated ? .skipped : .warning, "no receiver answered",
                    cure: stated
                        ? nil
                        : "Check that it is on and in this network, and let mDNS in through this machine's firewall "
                            + "(ufw allow 5353/udp, or firewall-cmd --add-service=mdns)")
                : Finding("devices", .ok, "\(count) receiver\(count == 1 ? " is" : "s are") there"))
        return findings
    }

    typealias Say = @Sendable (Finding) async -> Void

    /// Tells what is found of a device, as it is found.
    func examine(_ device: String, _ say: Say) async {
        let choices: [RouteChoice]
        let tone: ToneFile
        do {
            tone = try ToneFile(silent: silent)
            choices = try await control.explain(PlayRequest(what: [tone.path], rooms: [device]))
        } catch {
            return await say(Finding("found", RouterError(wrapping: error)))
        }
        defer { tone.remove() }
        for choice in choices {
            for candidate in choice.candidates { await say(found(candidate)) }
            if let busy = choice.candidates.compactMap(\.endpoint.busyWith).first {
                await say(
                    Finding(
                        "sound", .skipped, "\(choice.name) plays \(busy) for somebody else, and is not disturbed",
                        cure: "Ask again when it is free"))
                continue
            }
            var families: [ViaPreference] = []
            for candidate in choice.candidates where candidate.usable {
                let family = candidate.endpoint.protocol.family
                let via = ViaPreference.allCases.first { $0.family == family } ?? .auto
                if !families.contains(via) { families.append(via) }
            }
            if families.isEmpty {
                await say(
                    Finding(
                        "sound", .failed, "\(choice.name) has no way that can be played by",
                        cure: "See the reasons above, and router devices --long", code: .unsupported))
            }
            for via in families { await play(tone, choice, via, say) }
        }
    }

    private func found(_ candidate: RouteChoice.Candidate) -> Finding {
        let endpoint = candidate.endpoint
        let version = endpoint.firmware.map { ", firmware \($0)" } ?? ""
        let what = "\(endpoint.protocol.displayName) at \(endpoint.address)\(version)"
        guard candidate.usable else {
            return Finding("found", .skipped, "\(what): \(candidate.reasons.first ?? "not usable")")
        }
        return Finding("found", .ok, what)
    }

    // MARK: Pairing

    /// What it takes to be let in, before it is tried.
    private func admission(_ endpoint: Endpoint) -> Finding? {
        let way = endpoint.protocol.displayName
        switch endpoint.access {
        case .pin, .pairingNeeded:
            return Finding(
                "pairing", .warning, "\(way): it plays only for senders that it knows, and does not know this one",
                cure: "Run: router pair \(ShellWord.quoted(endpoint.name))")
        case .denied:
            return Finding(
                "pairing", .warning, "\(way): it refused this sender before", cure: "Look at the device's own settings")
        case .password, .open, .paired: return nil
        }
    }

    /// How it let us in.
    private func admitted(_ endpoint: Endpoint?) -> String {
        switch endpoint?.access {
        case .password: "it took the password"
        case .paired: "it knows this sender"
        default: "it lets in whoever asks"
        }
    }

    // MARK: The tone

    private func play(_ tone: ToneFile, _ choice: RouteChoice, _ via: ViaPreference, _ say: Say) async {
        let endpoints = choice.candidates.filter(\.usable).map(\.endpoint)
            .filter { via == .auto || $0.protocol.family == via.family }
        if let first = endpoints.first, let finding = admission(first) { await say(finding) }
        phase(
            "sending \(silent ? "silence" : "a quiet tone") to \(choice.name) by \(via.family?.displayName ?? "any way")"
        )
        let events = await control.events()
        let snapshot: SessionSnapshot
        do {
            snapshot = try await control.play(
                PlayRequest(what: [tone.path], rooms: [choice.route.rawValue], via: via))
        } catch {
            var error = RouterError(wrapping: error)
            if error.code == .authRequired { error.hint = error.hint ?? "Run “router pair”" }
            return await say(Finding("connection", error))
        }
        let last = await follow(snapshot, events, say)
        try? await control.end(session: snapshot.id, reason: .stop)
        // Its last state has all that was sent.
        let ended = await control.sessions().first { $0.id == snapshot.id }
        for var member in last.members {
            member.delivery = ended?.members.first { $0.route == member.route }?.delivery ?? member.delivery
            await judge(member, endpoints.first { $0.id == member.endpoint }, say)
        }
    }

    /// Reads on until the tone was heard for all that is known, or is over, for no longer than it may take; gives the
    /// fullest news of each member.
    private func follow(
        _ snapshot: SessionSnapshot, _ events: AsyncStream<RouterEvent>, _ say: Say
    ) async -> SessionSnapshot {
        let told = await withTaskGroup(of: (SessionSnapshot, [Notice])?.self) { group in
            group.addTask { await Self.read(events, of: snapshot) }
            group.addTask {
                try? await Task.sleep(for: .seconds(Self.patience))
                return nil
            }
            group.addTask { [control] in
                while (try? await Task.sleep(for: .milliseconds(500))) != nil {
                    let session = await control.sessions().first { $0.id == snapshot.id }
                    if session.map(Self.isProven) ?? false { break }
                }
                return nil
            }
            // Whichever is over first ends the other; the reader then gives what it has.
            var told = await group.next() ?? nil
            group.cancelAll()
            while let other = await group.next() { told = told ?? other }
            return told
        }
        let (latest, notices) = told ?? (snapshot, [])
        for notice in notices where notice.severity != .info {
            await say(Finding("connection", .warning, notice.message, cure: notice.hint))
        }
        return latest
    }

    /// Whether every room plays for certain, and the tone is behind it.
    private static func isProven(_ session: SessionSnapshot) -> Bool {
        // A snapshot is as old as the last change.
        guard let heard = session.anchor?.position(at: PlayFollower.monotonic()) else { return false }
        return heard.seconds > Double(ToneFile.toneSeconds + 1)
            && session.members.allSatisfy { $0.proof?.certainty == .known }
    }

    private static func read(
        _ events: AsyncStream<RouterEvent>, of snapshot: SessionSnapshot
    ) async -> (SessionSnapshot, [Notice]) {
        var latest = snapshot
        var proofs: [RouteID: PlayingProof] = [:]
        var deliveries: [RouteID: DeliveryStatistics] = [:]
        var notices: [Notice] = []
        reading: for await event in events {
            switch event.body {
            case .notice(let notice): notices.append(notice)
            case .session(let news) where news.id == snapshot.id:
                latest = news
                for member in news.members {
                    // The last word is that it ended, which says nothing of the sound.
                    if let proof = member.proof, member.connection == .connected { proofs[member.route] = proof }
                    if let delivery = member.delivery { deliveries[member.route] = delivery }
                }
                // What is told of it comes before its end.
                if news.connection == .ended || news.connection == .failed || news.media == .stopped { break reading }
            default: break
            }
        }
        for index in latest.members.indices {
            let route = latest.members[index].route
            latest.members[index].proof = proofs[route] ?? latest.members[index].proof
            latest.members[index].delivery = deliveries[route] ?? latest.members[index].delivery
        }
        return (latest, notices)
    }

    // MARK: Judging

    private func judge(_ member: SessionMember, _ endpoint: Endpoint?, _ say: Say) async {
        let way = member.protocol?.displayName ?? "?"
        if let error = member.error {
            var finding = Finding("sound", error)
            finding.message = "\(way): \(finding.message)"
            return await say(finding)
        }
        let address = endpoint.map { ": TCP \($0.address) is open" } ?? ""
        await say(Finding("connection", .ok, "\(way)\(address), and it took the stream"))
        await say(Finding("pairing", .ok, "\(way): \(admitted(endpoint))"))
        guard let delivery = member.delivery else {
            return await say(Finding("sound", .ok, "\(way): it fetched the sound from this machine, and played it"))
        }
        await say(timing(member.proof, way))
        await say(sending(delivery, way))
        await say(sound(member.proof, way))
    }

    private func timing(_ proof: PlayingProof?, _ way: String) -> Finding {
        if let timing = proof?.timing { return Finding("timing", .ok, "\(way): \(timing)") }
        guard let proof, proof.certainty == .doubtful else {
            return Finding("timing", .skipped, "\(way): nothing is known of its clock")
        }
        return Finding("timing", .failed, "\(way): \(proof.reason)", cure: proof.hint, code: .unavailable)
    }

    private func sending(_ delivery: DeliveryStatistics, _ way: String) -> Finding {
        let (sent, again) = (delivery.packetsSent, delivery.packetsResent)
        let late = Int(delivery.latenessMaximumMicroseconds / 1000)
        if sent == 0 {
            return Finding(
                "sending", .failed, "\(way): no packet was sent", cure: "Run it with -v and report it", code: .internal)
        }
        if Double(again) > Double(sent) * Self.lossyPart {
            return Finding(
                "sending", .warning, "\(way): \(again) of \(sent) packets were lost on the way",
                cure: "Move the device or the access point, or use a cable")
        }
        if late > Self.lateness {
            return Finding(
                "sending", .warning, "\(way): this machine sent a packet \(late) ms late",
                cure: "Let it do less, or give the router real-time priority (ulimit -r)")
        }
        return Finding(
            "sending", .ok, "\(way): \(sent) packets sent, \(again == 0 ? "none" : "\(again)") of them again")
    }

    private func sound(_ proof: PlayingProof?, _ way: String) -> Finding {
        guard let proof else {
            return Finding("sound", .warning, "\(way): whether it is heard cannot be told from here", cure: "Listen")
        }
        let message = "\(way): \(proof.reason)"
        switch proof.certainty {
        case .known: return Finding("sound", .ok, message)
        case .unknown: return Finding("sound", .warning, message, cure: proof.hint ?? "Listen")
        case .doubtful where proof.timing == nil:
            return Finding("sound", .failed, "\(way): it is silent, as far as can be told", code: .unavailable)
        case .doubtful: return Finding("sound", .failed, message, cure: proof.hint, code: .unavailable)
        }
    }
}
