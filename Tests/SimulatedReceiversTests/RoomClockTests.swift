import Foundation
import PeerSupport
import Testing

@Suite("Rooms compared by their recordings and clocks")
struct RoomClockTests {
    /// Noise that does not repeat itself.
    static let sound: [Int16] = {
        var state: UInt32 = 7
        return (0..<200_000).map { _ in
            state = state &* 1_664_525 &+ 1_013_904_223
            return Int16(truncatingIfNeeded: state >> 16)
        }
    }()

    /// Hears the sound from frame `from` on, the first frame of all at `start`.
    static func room(from: Int, start: Int64) -> RoomClock {
        func heard(_ frame: Int) -> Int64 { start + Int64(frame) * 1_000_000_000 / 44_100 }
        let samples = Array(sound[from...])
        return RoomClock(
            samples: samples,
            marks: stride(from: 0, to: samples.count, by: 44_100).map {
                RoomClock.Mark(frame: $0, hostNanoseconds: heard(from + $0))
            })
    }

    @Test(
        "R5 the time by which one room is later is found, wherever each began to hear",
        arguments: [0, 450_000, -3_000_000])
    func later(nanoseconds: Int64) {
        let first = Self.room(from: 100, start: 5_000_000_000)
        let second = Self.room(from: 7_777, start: 5_000_000_000 + nanoseconds)
        let skews = second.skews(against: first)
        #expect(skews.count == 4, "the first mark is before what the second heard")
        #expect(skews.allSatisfy { abs($0 - nanoseconds) <= 100 }, "\(skews)")
    }

    @Test("R5 rooms that hear other sound, or too far apart, are not compared")
    func apart() {
        let first = Self.room(from: 0, start: 0)
        #expect(Self.room(from: 0, start: 100_000_000).skews(against: first).isEmpty)
        #expect(RoomClock(samples: [], marks: []).skews(against: first).isEmpty)
    }
}
