/// Frames are counted from 0 and never skip; the wire has the low 8 bits (`Protocols/cast` section 12).
public enum CastFrameID {
    /// How many frames a sender may have on the way that the receiver has not acknowledged: with more, 8 bits would not
    /// tell them apart.
    public static let maximumUnacknowledged = 120

    public static func wire(_ id: Int) -> UInt8 { UInt8(truncatingIfNeeded: id) }

    /// The frame nearest to `reference` with these low bits: what an arriving packet's header means. Of two that are as
    /// near, the later.
    public static func expand(_ low: UInt8, near reference: Int) -> Int {
        reference + (Int(low &- wire(reference)) + 127) % 256 - 127
    }

    /// The last frame up to `limit` with these low bits: what a checkpoint means, since nobody acknowledges what was
    /// not sent. -1 and less: none of ours.
    public static func expand(_ low: UInt8, atMost limit: Int) -> Int { limit - Int(wire(limit) &- low) }

    /// The first frame after `reference` with these low bits: what is missing beyond a checkpoint.
    public static func expand(_ low: UInt8, after reference: Int) -> Int {
        reference + 1 + Int(low &- wire(reference + 1))
    }
}
