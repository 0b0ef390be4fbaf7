/// How good a clock says that it is: by this the others choose their master. Lower is better, from the first field on.
public struct PTPClockQuality: Sendable, Hashable {
    public var priority1: UInt8
    /// 6 is locked to a primary reference, 248 the default, 255 a clock that never is master.
    public var clockClass: UInt8
    /// 0x21 is within 100 ns, 0xFE unknown.
    public var accuracy: UInt8
    public var variance: UInt16
    public var priority2: UInt8

    public init(priority1: UInt8, clockClass: UInt8, accuracy: UInt8, variance: UInt16, priority2: UInt8) {
        self.priority1 = priority1
        self.clockClass = clockClass
        self.accuracy = accuracy
        self.variance = variance
        self.priority2 = priority2
    }

    /// What Apple's senders announce [K].
    public static let airPlaySender = PTPClockQuality(
        priority1: 128, clockClass: 6, accuracy: 0x21, variance: 0x436A, priority2: 128)
}

/// Who the master is, as a clock sees it: the content of Announce.
public struct PTPAnnounce: Sendable, Hashable {
    public static let byteCount = 30

    public var origin: PTPTimestamp
    /// TAI − UTC in seconds.
    public var utcOffset: Int16
    public var quality: PTPClockQuality
    public var grandmasterID: UInt64
    /// Clocks between the grandmaster and this one.
    public var stepsRemoved: UInt16
    /// 0x20 is GPS, 0xA0 an oscillator of its own.
    public var timeSource: UInt8

    public init(
        grandmasterID: UInt64, quality: PTPClockQuality, origin: PTPTimestamp = .zero, utcOffset: Int16 = 0,
        stepsRemoved: UInt16 = 0, timeSource: UInt8 = 0x20
    ) {
        self.origin = origin
        self.utcOffset = utcOffset
        self.quality = quality
        self.grandmasterID = grandmasterID
        self.stepsRemoved = stepsRemoved
        self.timeSource = timeSource
    }
}
