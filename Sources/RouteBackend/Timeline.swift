import Foundation
import RouteModel

/// When media is heard: an anchor on the host's monotonic clock, and from there on in step.
public struct Timeline: Sendable, Hashable {
    /// Host monotonic nanoseconds.
    public var hostNanoseconds: Int64
    /// Media time that is heard at that instant.
    public var mediaTime: MediaTime
    /// 1 is normal speed.
    public var rate: Double

    public init(hostNanoseconds: Int64, mediaTime: MediaTime, rate: Double = 1) {
        self.hostNanoseconds = hostNanoseconds
        self.mediaTime = mediaTime
        self.rate = rate
    }

    /// The instant at which `frame` of a feed of `sampleRate` is heard.
    public func instant(ofFrame frame: Int64, sampleRate: Int) -> Int64 {
        let offset = MediaTime(frames: frame, sampleRate: sampleRate) - mediaTime
        guard rate != 1 else { return hostNanoseconds + offset.nanoseconds }
        return hostNanoseconds + Int64(Double(offset.nanoseconds) / rate)
    }

    /// The frame that is heard at an instant, rounded down; before the anchor it may be negative.
    public func frame(at instant: Int64, sampleRate: Int) -> Int64 {
        let elapsed = MediaTime(nanoseconds: Int64(Double(instant - hostNanoseconds) * rate))
        return (mediaTime + elapsed).frames(sampleRate: sampleRate)
    }

    public func mediaTime(at instant: Int64) -> MediaTime {
        mediaTime + MediaTime(nanoseconds: Int64(Double(instant - hostNanoseconds) * rate))
    }

    /// The same timeline, heard later (earlier, if negative) by a room's offset.
    public func shifted(byNanoseconds offset: Int64) -> Timeline {
        Timeline(hostNanoseconds: hostNanoseconds + offset, mediaTime: mediaTime, rate: rate)
    }
}

/// The host's monotonic clock. The engine and the backends read no other; tests turn one by hand.
public protocol HostClock: Sendable {
    /// Nanoseconds of the monotonic clock.
    func now() -> Int64
    /// Returns at or after the instant. Throws `CancellationError` when the task is cancelled.
    func sleep(until instant: Int64) async throws
}

extension HostClock {
    public func sleep(nanoseconds: Int64) async throws { try await sleep(until: now() + nanoseconds) }
}

/// CLOCK_MONOTONIC.
public struct SystemHostClock: HostClock {
    public init() {}

    public func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    public func sleep(until instant: Int64) async throws {
        let wait = instant - now()
        if wait > 0 {
            try await Task.sleep(for: .nanoseconds(wait), tolerance: .zero, clock: .continuous)
        } else {
            try Task.checkCancellation()
        }
    }
}
