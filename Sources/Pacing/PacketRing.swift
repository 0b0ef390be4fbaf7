import CPosix
import Foundation
import Synchronization

/// The packets of one stream: those that wait to be sent, and those sent that the receiver may ask for again.
///
/// Written by the session, emptied by the sending thread: one of the two types of the product that hold a lock. Every
/// hold of it is short, and sending allocates nothing; what goes beside the audio, about once a second, and what
/// `resend`'s caller makes of a packet may.
public final class PacketRing: Sendable {
    /// Makes the packet that goes beside the audio at `now`.
    public typealias BeatMaker = @Sendable (_ beat: BeatSchedule.Beat, _ now: Int64) -> [UInt8]

    /// As `BeatMaker`, for packets that tell how much has been sent.
    public typealias CountingBeatMaker =
        @Sendable (_ beat: BeatSchedule.Beat, _ now: Int64, _ sent: Sent) -> [UInt8]

    /// What went so far, resends apart.
    public struct Sent: Sendable, Hashable {
        public var packets = 0
        /// Whole packets, with their headers.
        public var bytes = 0
    }

    /// How appending went.
    public enum Appended: Sendable, Hashable {
        /// Taken; the sending thread looks in time by itself.
        case queued
        /// Taken, and due before the sending thread would look: wake it.
        case queuedSooner
        /// Not taken: too many wait.
        case full
    }

    /// What one look of the sending thread came to.
    struct Served {
        /// The instant to look again.
        var next: Int64?
        /// `errno` of a send that failed, else 0.
        var error: Int32 = 0
    }

    private struct State: ~Copyable {
        var schedule: PacketSchedule
        var storage: UnsafeMutableRawBufferPointer
        var lengths: [Int]
        var burst: UnsafeMutableBufferPointer<cposix_datagram>
        var lastSequence: UInt16 = 0
        var beats: BeatSchedule?
        var beatMaker: CountingBeatMaker?
        var sent = Sent()
        var armed: Int64 = .max
        var statistics = PacingStatistics()

        deinit {
            storage.deallocate()
            burst.deallocate()
        }
    }

    /// Bytes of the longest packet.
    public let slotBytes: Int
    private let state: Mutex<State>

    public init(policy: PacketSchedule.Policy = PacketSchedule.Policy(), slotBytes: Int = 1472) {
        self.slotBytes = slotBytes
        state = Mutex(
            State(
                schedule: PacketSchedule(policy: policy),
                storage: .allocate(byteCount: slotBytes * policy.capacity, alignment: 16),
                lengths: [Int](repeating: 0, count: policy.capacity),
                burst: .allocate(capacity: policy.burst)))
    }

    /// Adds a packet.
    ///
    /// - Parameters:
    ///   - sequence: one more than that of the packet before.
    ///   - deadline: when to send it, in nanoseconds of CLOCK_MONOTONIC.
    ///   - now: the same clock, for the statistics.
    public func append(_ packet: [UInt8], sequence: UInt16, deadline: Int64, now: Int64) -> Appended {
        precondition(packet.count <= slotBytes, "a packet of \(packet.count) bytes in slots of \(slotBytes)")
        return state.withLock { state in
            guard state.schedule.hasRoom else { return .full }
            let slot = state.schedule.slot(of: state.schedule.add(deadline: deadline))
            packet.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: state.storage[(slot * slotBytes)...]).copyMemory(from: $0)
            }
            state.lengths[slot] = packet.count
            state.lastSequence = sequence
            if deadline < now { state.statistics.underruns += 1 }
            guard let wake = state.schedule.nextWake, wake < state.armed else { return .queued }
            state.armed = wake
            return .queuedSooner
        }
    }

    /// Begins sending `maker`'s packets. Wake the sending thread afterwards.
    public func beat(_ beats: BeatSchedule, maker: @escaping BeatMaker) {
        beat(beats, counting: { beat, now, _ in maker(beat, now) })
    }

    /// As `beat(_:maker:)`, for packets that tell how much has been sent.
    public func beat(_ beats: BeatSchedule, counting maker: @escaping CountingBeatMaker) {
        state.withLock { state in
            state.beats = beats
            state.beatMaker = maker
        }
    }

    /// Forgets what waits and stops beating. Nothing is sent once this has returned.
    ///
    /// - Returns: how many packets were forgotten; the sequence goes back by as many.
    @discardableResult
    public func dropPending() -> Int {
        state.withLock { state in
            state.beats = nil
            state.beatMaker = nil
            let dropped = state.schedule.dropPending()
            state.lastSequence &-= UInt16(truncatingIfNeeded: dropped)
            return dropped
        }
    }

    /// Nanoseconds by which a packet may go early.
    public var slack: Int64 { state.withLock { $0.schedule.policy.slack } }

    /// How many packets wait.
    public var pending: Int { state.withLock { $0.schedule.pending } }

    public var statistics: PacingStatistics { state.withLock { $0.statistics } }

    /// Counts packets that were not worth sending any more.
    public func noteSkipped(_ count: Int) { state.withLock { $0.statistics.skipped += count } }

    /// Hands out packets that were sent before, while they are held.
    public func resend(
        from sequence: UInt16, count: Int, _ body: (_ sequence: UInt16, _ packet: UnsafeRawBufferPointer) -> Void
    ) {
        state.withLock { state in
            let lastSent = state.lastSequence &- UInt16(truncatingIfNeeded: state.schedule.pending)
            for offset in 0..<min(count, state.schedule.policy.capacity) {
                let wanted = sequence &+ UInt16(truncatingIfNeeded: offset)
                let distance = Int(lastSent &- wanted)
                guard let position = state.schedule.sentPosition(back: distance) else {
                    state.statistics.resendsMissed += 1
                    continue
                }
                let slot = state.schedule.slot(of: position)
                let start = slot * slotBytes
                let packet = state.storage[start..<(start + state.lengths[slot])]
                body(wanted, UnsafeRawBufferPointer(rebasing: packet))
                state.statistics.resent += 1
            }
        }
    }

    /// Sends what is due at `now`.
    ///
    /// - Parameters:
    ///   - beat: sends a packet beside the audio; called first, so that the receiver knows the time of what follows.
    ///   - send: sends packets in order, and says how many went and 0 or `errno`.
    func serve(
        at now: Int64, beat: ([UInt8]) -> Void,
        send: (UnsafeBufferPointer<cposix_datagram>) -> (sent: Int, error: Int32)
    ) -> Served {
        state.withLock { state in
            var served = Served()
            if let due = state.beats?.take(at: now), let maker = state.beatMaker { beat(maker(due, now, state.sent)) }
            let due = state.schedule.take(at: now)
            if !due.isEmpty {
                for (index, position) in due.enumerated() {
                    let slot = state.schedule.slot(of: position)
                    state.burst[index] = cposix_datagram(
                        bytes: state.storage.baseAddress! + slot * slotBytes, length: state.lengths[slot])
                }
                let result = send(UnsafeBufferPointer(rebasing: state.burst[..<due.count]))
                served.error = result.error
                for position in due.prefix(result.sent) {
                    state.statistics.note(lateness: now - state.schedule.deadline(of: position))
                    state.sent.packets += 1
                    state.sent.bytes += state.lengths[state.schedule.slot(of: position)]
                }
                if result.sent < due.count { state.schedule.unsend(due.count - result.sent, retry: now + 2_000_000) }
            }
            state.armed = min(state.schedule.nextWake ?? .max, state.beats?.next ?? .max)
            served.next = state.armed == .max ? nil : state.armed
            return served
        }
    }
}
