import Foundation

/// A slider's position as a person perceives it, 0 to 1. Values outside are clamped, NaN is 0.
public struct VolumePosition: Codable, Sendable, Hashable, Comparable {
    public let value: Double

    public init(_ value: Double) { self.value = value.isNaN ? 0 : min(1, max(0, value)) }
    public init(percent: Double) { self.init(percent / 100) }

    public var percent: Int { Int((value * 100).rounded()) }

    public static func < (left: VolumePosition, right: VolumePosition) -> Bool { left.value < right.value }

    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(Double.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

public struct Decibels: Codable, Sendable, Hashable, Comparable {
    public var value: Double
    public init(_ value: Double) { self.value = value }
    public static func < (left: Decibels, right: Decibels) -> Bool { left.value < right.value }
}

/// What can be done with the volume of a route.
public struct VolumeDescriptor: Codable, Sendable, Hashable {
    public enum Handling: String, Codable, Sendable, Hashable, CaseIterable { case adjustable, fixed, masterOnly }
    public enum Readback: String, Codable, Sendable, Hashable, CaseIterable { case events, polled, none }

    public var handling: Handling
    /// The smallest change that the device makes, 0 to 1.
    public var step: Double
    public var curve: VolumeCurve
    public var readback: Readback

    public init(handling: Handling, step: Double = 0.01, curve: VolumeCurve = .linear, readback: Readback) {
        self.handling = handling
        self.step = step
        self.curve = curve
        self.readback = readback
    }

    public static let fixed = VolumeDescriptor(handling: .fixed, readback: .none)
}

/// What the knob shows.
public struct VolumeState: Codable, Sendable, Hashable {
    public var level: VolumePosition
    public var muted: Bool

    public init(level: VolumePosition, muted: Bool = false) {
        self.level = level
        self.muted = muted
    }
}
