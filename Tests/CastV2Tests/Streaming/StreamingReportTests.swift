import CastV2
import Testing

@Suite("Cast Streaming: reports")
struct StreamingReportTests {
    static let (sender, receiver): (UInt32, UInt32) = (0x2B0B_0001, 0x2B0B_0002)
    static let time = CastNTPTime(nanoseconds: 5_500_000_000)
    static let compounds: [String: [CastRTCP]] = [
        "senderReport": [
            .senderReport(CastSenderReport(ssrc: sender, time: time, timestamp: 48_000, packets: 10, octets: 2000))
        ],
        "receiverReport": [
            .receiverReport(
                ssrc: receiver,
                CastReceptionBlock(
                    senderSSRC: sender, fractionLost: 64, cumulativeLost: 5, highestSequence: 0x1_0002, jitter: 33,
                    lastReport: 0x0005_8000, delay: 0x8000)),
            .referenceTime(ssrc: receiver, time),
        ],
        "feedback": [.feedback(feedback(checkpoint: 255))],
        "losses": [
            .feedback(
                feedback(
                    checkpoint: 9,
                    losses: [
                        CastFeedback.Loss(frameID: 10, packetID: 3, following: 0x81),
                        CastFeedback.Loss(frameID: 12, packetID: CastFeedback.Loss.wholeFrame),
                    ]))
        ],
        "acknowledgements": [
            .feedback(
                feedback(
                    checkpoint: 9,
                    acknowledgements: CastFeedback.Acknowledgements(count: 7, frames: [11, 34], after: 9)))
        ],
        "pictureLoss": [.pictureLoss(receiverSSRC: receiver, senderSSRC: sender)],
    ]

    static func feedback(
        checkpoint: UInt8, losses: [CastFeedback.Loss] = [], acknowledgements: CastFeedback.Acknowledgements? = nil
    ) -> CastFeedback {
        CastFeedback(
            receiverSSRC: receiver, senderSSRC: sender, checkpoint: checkpoint, playoutDelay: 400, losses: losses,
            acknowledgements: acknowledgements)
    }

    @Test("R5 the vectors of RTCP, read and written")
    func rtcp() throws {
        #expect(Set(StreamingVectors.all.rtcp.keys) == Set(Self.compounds.keys))
        var all: [UInt8] = []
        var expected: [CastRTCP] = []
        for (name, hex) in StreamingVectors.all.rtcp {
            let bytes = StreamingVectors.bytes(hex)
            let packets = try #require(Self.compounds[name])
            #expect(try CastRTCP.decode(bytes) == packets, "\(name)")
            #expect(CastRTCP.encode(packets) == bytes, "\(name)")
            #expect(CastRTCP.matches(bytes), "\(name)")
            all += bytes
            expected += packets
        }
        #expect(try CastRTCP.decode(all) == expected)
        let others: [String: CastRTCP] = [
            "application": .other(type: 204, subtype: 2), "extended": .other(type: 207, subtype: 0),
            "goodbye": .other(type: 203, subtype: 1),
        ]
        for (name, hex) in StreamingVectors.all.otherRTCP {
            let other = try #require(others[name])
            #expect(try CastRTCP.decode(StreamingVectors.bytes(hex)) == [other], "\(name)")
            #expect(CastRTCP.encode([other]).isEmpty)
        }
    }

    @Test("R5 every malformed report has its error, and every cut of a whole one is refused")
    func badRTCP() throws {
        for (name, hex) in StreamingVectors.all.badRTCP {
            let error: CastRTCPError =
                switch name {
                case "versionOne", "padded": .notRTCP
                case "notCast": .notCast
                default: .truncated
                }
            #expect(throws: error, "\(name)") { try CastRTCP.decode(StreamingVectors.bytes(hex)) }
        }
        #expect(StreamingVectors.all.badRTCP.count == 18)
        #expect(throws: CastRTCPError.tooLong) {
            try CastRTCP.decode([UInt8](repeating: 0x80, count: CastRTCP.maximumBytes + 1))
        }
        for (name, hex) in StreamingVectors.all.rtcp {
            let bytes = StreamingVectors.bytes(hex)
            // The second packet of the report and reference time may be missing altogether.
            for count in bytes.indices where !(name == "receiverReport" && count == 32) {
                #expect(throws: CastRTCPError.truncated, "\(name), \(count) bytes") {
                    try CastRTCP.decode(Array(bytes.prefix(count)))
                }
            }
        }
    }

    @Test("R5 losses and acknowledgements name what they mean")
    func meaning() {
        let fields = CastFeedback.Loss.fields(frameID: 4, packets: [0, 1, 8, 9, 30])
        #expect(
            fields == [
                CastFeedback.Loss(frameID: 4, packetID: 0, following: 0x81),
                CastFeedback.Loss(frameID: 4, packetID: 9), CastFeedback.Loss(frameID: 4, packetID: 30),
            ])
        #expect(fields.compactMap(\.packets).flatMap { $0 } == [0, 1, 8, 9, 30])
        #expect(CastFeedback.Loss(frameID: 4, packetID: CastFeedback.Loss.wholeFrame, following: 3).packets == nil)
        let given = CastFeedback.Acknowledgements(count: 0, frames: [10, 11, 19, 130, 9_999, 5], after: 9)
        #expect(given.frames(after: 9) == [11, 19, 130])
        #expect(given.bits.count % 4 == 2)
        #expect(CastFeedback.Acknowledgements(count: 0, frames: [], after: 9).bits == [0, 0])
    }

    @Test("R5 no message is longer than its counts can say")
    func limits() throws {
        var feedback = Self.feedback(checkpoint: 1)
        feedback.losses = (0..<400).map { CastFeedback.Loss(frameID: UInt8($0 % 100), packetID: UInt16($0)) }
        feedback.acknowledgements = CastFeedback.Acknowledgements(
            count: 1, bits: [UInt8](repeating: 1, count: 1000))
        guard case .feedback(let read) = try CastRTCP.decode(CastRTCP.encode([.feedback(feedback)])).first else {
            Issue.record("no feedback")
            return
        }
        #expect(read.losses == Array(feedback.losses.prefix(255)))
        #expect(read.acknowledgements?.bits == [UInt8](repeating: 1, count: 254))
    }

    @Test("R5 times keep their nanosecond")
    func ntp() {
        for nanoseconds in [0, 1, 999_999_999, 1_000_000_000, 5_500_000_000, 86_400_000_000_001] as [Int64] {
            #expect(CastNTPTime(nanoseconds: nanoseconds).nanoseconds == nanoseconds)
        }
        #expect(CastNTPTime(nanoseconds: -5) == CastNTPTime(nanoseconds: 0))
        #expect(
            CastNTPTime(nanoseconds: 5_500_000_000).middle == UInt32(truncatingIfNeeded: (2_208_988_805 << 16) + 0x8000)
        )
    }
}
