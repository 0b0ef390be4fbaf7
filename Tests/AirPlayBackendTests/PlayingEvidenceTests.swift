import RouteModel
import Testing

@testable import AirPlayBackend

@Suite("Whether a room is known to be heard")
struct PlayingEvidenceTests {
    static let second: Int64 = 1_000_000_000

    static func evidence(_ clock: PlayingEvidence.Clock) -> PlayingEvidence {
        PlayingEvidence(since: 0, clock: clock, name: "Kitchen", host: "192.168.1.9", ports: 40_001...40_002)
    }

    @Test("R6 A receiver that asks the time and takes the audio is known to play")
    func known() {
        let asks = Self.evidence(.questions(count: 3, last: 0))
        #expect(asks.judged(at: 2 * Self.second).certainty == .known)
        let follows = Self.evidence(.grandmaster(heard: true, refused: false))
        #expect(follows.judged(at: 60 * Self.second).certainty == .known)
    }

    @Test(
        "R6 Silence on the clock is nothing at first, and then told with the ports to open",
        arguments: [
            PlayingEvidence.Clock.questions(count: 0, last: 0), .grandmaster(heard: false, refused: false),
        ])
    func silent(clock: PlayingEvidence.Clock) {
        let evidence = Self.evidence(clock)
        #expect(evidence.judged(at: 4 * Self.second).certainty == .unknown)
        let proof = evidence.judged(at: 6 * Self.second)
        #expect(proof.certainty == .doubtful)
        #expect(proof.hint?.contains("40001 to 40002") == true)
        #expect(proof.hint?.contains("192.168.1.9") == true)
    }

    @Test("R6 What it knows the time by is said where it does, and the firewall's rule where it does not")
    func timing() {
        #expect(Self.evidence(.questions(count: 3, last: 0)).judged(at: Self.second).timing?.contains("asks") == true)
        #expect(
            Self.evidence(.grandmaster(heard: true, refused: false)).judged(at: Self.second).timing?.contains("PTP")
                == true)
        let silent = Self.evidence(.questions(count: 0, last: 0)).judged(at: 6 * Self.second)
        #expect(silent.timing == nil)
        // Ports that the system chose are others the next time; those of PTP are always the same.
        #expect(silent.hint?.contains("(ufw allow proto udp from 192.168.1.9)") == true)
        var ptp = Self.evidence(.grandmaster(heard: false, refused: false))
        ptp.ports = 319...320
        let hint = ptp.judged(at: 6 * Self.second).hint
        #expect(hint?.contains("(ufw allow proto udp from 192.168.1.9 to any port 319:320)") == true)
        #expect(Self.evidence(.grandmaster(heard: true, refused: true)).judged(at: 0).timing == nil)
    }

    @Test("R6 One that has stopped asking is doubtful again")
    func stopped() {
        let evidence = Self.evidence(.questions(count: 9, last: 10 * Self.second))
        #expect(evidence.judged(at: 20 * Self.second).certainty == .known)
        #expect(evidence.judged(at: 26 * Self.second).certainty == .doubtful)
    }

    @Test("R6 Losses, refused packets, missing answers and known silence speak against it")
    func doubtful() {
        func judged(_ change: (inout PlayingEvidence) -> Void) -> PlayingProof {
            var evidence = Self.evidence(.questions(count: 3, last: 10 * Self.second))
            change(&evidence)
            return evidence.judged(at: 10 * Self.second)
        }
        #expect(judged { _ in }.certainty == .known)
        #expect(judged { ($0.sent, $0.resent) = (1000, 100) }.certainty == .known)
        #expect(judged { ($0.sent, $0.resent) = (1000, 300) }.reason.contains("loses many packets"))
        #expect(judged { $0.missed = 1 }.certainty == .doubtful)
        #expect(judged { $0.refused = true }.reason.contains("nobody takes the audio"))
        #expect(judged { $0.unanswered = true }.reason.contains("does not answer"))
        #expect(judged { $0.silentCombination = "it plays no such stream" }.reason == "it plays no such stream")
        #expect(judged { $0.clock = .grandmaster(heard: true, refused: true) }.certainty == .doubtful)
        for proof in [judged { $0.missed = 1 }, judged { $0.refused = true }, judged { $0.unanswered = true }] {
            #expect(proof.hint != nil)
        }
    }
}
