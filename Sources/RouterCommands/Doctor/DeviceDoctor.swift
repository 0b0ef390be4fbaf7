import Foundation
import RouteModel
import RouterDaemon

/// Follows one device from its records to its sound.
struct DeviceDoctor: Sendable {
    let control: any RouterControlling
    let silent: Bool
    /// Seconds that a tone may take to be over: the longest way is a device that has to be waited for at each port.
    private static let patience = 40.0

    func discovery() async -> [Finding] {
        guard let list = try? await control.routes(settle: true) else { return [] }
        var findings = list.discovery.map { state in
            state.status == .unavailable
                ? Finding(
                    "discovery", .failed, "\(state.source): \(state.message ?? "does not work here")",
                    cure: state.hint)
                : Finding("discovery", .ok, "\(state.source) works")
        }
        let count = list.routes.count
        findings.append(
            count == 0
                ? Finding(
                    "devices", .warning, "no receiver answered",
                    cure: "Check that it is on and in this network, and that UDP port 5353 is not blocked: "
                        + "ufw allow 5353/udp, or firewall-cmd --add-service=mdns")
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
            let error = RouterError(wrapping: error)
            return await say(Finding("found", .failed, error.message, cure: error.hint))
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
                await say(Finding("sound", .failed, "\(choice.name) has no way that can be played by", cure: nil))
            }
            for via in families { await play(tone, on: choice.route.rawValue, via, say) }
        }
    }

    private func found(_ candidate: RouteChoice.Candidate) -> Finding {
        let endpoint = candidate.endpoint
        let what = "\(endpoint.protocol.displayName) at \(endpoint.address)"
        let version = endpoint.firmware.map { ", firmware \($0)" } ?? ""
        switch endpoint.access {
        case .pin, .pairingNeeded:
            return Finding(
                "found", .warning, "\(what)\(version): it plays only for senders that it knows",
                cure: "Run “router pair \(endpoint.name)”")
        case .password:
            return Finding("found", .ok, "\(what)\(version); it has a password")
        case .denied:
            return Finding("found", .warning, "\(what)\(version): it refuses us", cure: "Look at its own settings")
        case .open, .paired:
            guard candidate.usable else {
                return Finding("found", .skipped, "\(what)\(version): \(candidate.reasons.first ?? "not usable")")
            }
            return Finding("found", .ok, "\(what)\(version)\(endpoint.access == .paired ? ", paired" : "")")
        }
    }

    // MARK: The tone

    private func play(
        _ tone: ToneFile, on device: String, _ via: ViaPreference, _ say: Say
    ) async {
        let events = await control.events()
        let snapshot: SessionSnapshot
        do {
            snapshot = try await control.play(PlayRequest(what: [tone.path], rooms: [device], via: via))
        } catch {
            let error = RouterError(wrapping: error)
            var cure = error.hint
            if error.code == .authRequired { cure = cure ?? "Run “router pair”" }
            let causes = error.causes.isEmpty ? "" : " (\(error.causes.joined(separator: "; ")))"
            return await say(Finding("connection", .failed, "\(error.message)\(causes)", cure: cure))
        }
        let last = await follow(snapshot, events, say)
        try? await control.end(session: snapshot.id, reason: .stop)
        for member in last.members { await judge(member, say) }
    }

    /// Reads on until the tone is over, for no longer than it may take; gives the fullest news of each member.
    private func follow(
        _ snapshot: SessionSnapshot, _ events: AsyncStream<RouterEvent>, _ say: Say
    ) async -> SessionSnapshot {
        let told = await withTaskGroup(of: (SessionSnapshot, [Notice])?.self) { group in
            group.addTask { await Self.read(events, of: snapshot) }
            group.addTask {
                try? await Task.sleep(for: .seconds(Self.patience))
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
            default: break
            }
            if latest.connection == .ended || latest.connection == .failed || latest.media == .stopped {
                break reading
            }
        }
        for index in latest.members.indices {
            let route = latest.members[index].route
            latest.members[index].proof = proofs[route] ?? latest.members[index].proof
            latest.members[index].delivery = deliveries[route] ?? latest.members[index].delivery
        }
        return (latest, notices)
    }

    private func judge(_ member: SessionMember, _ say: Say) async {
        let way = member.protocol?.displayName ?? "?"
        if let error = member.error {
            return await say(Finding("sound", .failed, "\(way): \(error.message)", cure: error.hint))
        }
        await say(Finding("connection", .ok, "\(way) took the sound"))
        if let delivery = member.delivery {
            let (sent, again) = (delivery.packetsSent, delivery.packetsResent)
            let share = sent > 0 ? Double(again) / Double(sent) : 0
            let late = delivery.latenessMaximumMicroseconds / 1000
            if sent == 0 {
                await say(
                    Finding("sending", .failed, "\(way): no packet was sent", cure: "Run it with -v and report it"))
            } else if share > 0.02 {
                await say(
                    Finding(
                        "sending", .warning, "\(way): \(again) of \(sent) packets were lost on the way",
                        cure: "Move the device or the access point, or use a cable"))
            } else if late > 100 {
                await say(
                    Finding(
                        "sending", .warning, "\(way): this machine sent a packet \(late) ms late",
                        cure: "Let it do less, or give the router real-time priority (ulimit -r)"))
            } else {
                await say(Finding("sending", .ok, "\(way): \(sent) packets sent, \(again) of them again"))
            }
        }
        switch member.proof {
        case .none where member.delivery == nil:
            await say(Finding("sound", .ok, "\(way): the device fetched it and played"))
        case .none:
            await say(
                Finding("sound", .warning, "\(way): whether it is heard cannot be told from here", cure: "Listen"))
        case let proof?:
            let result: Finding.Result =
                switch proof.certainty {
                case .known: .ok
                case .doubtful: .failed
                case .unknown: .warning
                }
            await say(Finding("sound", result, "\(way): \(proof.reason)", cure: proof.hint))
        }
    }
}

/// A second of a quiet tone, and then silence for as long as a device needs to show that it plays.
struct ToneFile: Sendable {
    static let rate = 44_100
    static let toneSeconds = 1
    static let silenceSeconds = 6

    let path: String

    init(silent: Bool) throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "router-tone-\(UUID().uuidString).wav")
        path = url.path
        do {
            try Data(Self.wav(silent: silent)).write(to: url)
        } catch {
            throw RouterError(
                .storage, "no file can be written in \(FileManager.default.temporaryDirectory.path)",
                hint: "Make room there, or set TMPDIR")
        }
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }

    /// 440 Hz at −34 dBFS, faded in and out so that it does not click.
    static func wav(silent: Bool) -> [UInt8] {
        let frames = rate * (toneSeconds + silenceSeconds)
        func little(_ value: Int, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        var bytes: [UInt8] = Array("RIFF".utf8) + little(36 + frames * 4, 4) + Array("WAVEfmt ".utf8)
        bytes += little(16, 4) + little(1, 2) + little(2, 2) + little(rate, 4) + little(rate * 4, 4)
        bytes += little(4, 2) + little(16, 2) + Array("data".utf8) + little(frames * 4, 4)
        bytes.reserveCapacity(bytes.count + frames * 4)
        let tone = silent ? 0 : rate * toneSeconds
        for frame in 0..<frames {
            var sample = 0
            if frame < tone {
                let fade = min(1, Double(min(frame, tone - frame)) / Double(rate / 20))
                sample = Int(650 * fade * sin(2 * .pi * 440 * Double(frame) / Double(rate)))
            }
            bytes += little(sample, 2) + little(sample, 2)
        }
        return bytes
    }
}
