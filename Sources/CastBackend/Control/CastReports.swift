import CastV2

/// What a Cast device says of itself and of what plays on it, for programs: keys stay as they are, times are seconds.
public struct CastDeviceReport: Codable, Sendable, Hashable {
    public var name: String
    public var address: String
    /// Nil where the device tells none.
    public var volume: Volume?
    /// What runs; nil: nothing, or the idle screen.
    public var app: App?
    public var isStandBy: Bool?
    public var isActiveInput: Bool?
    /// What is loaded; nil: nothing, or the app tells nobody.
    public var media: CastMediaReport?
    /// Of a group; nil for a single device.
    public var members: [Member]?

    public struct Volume: Codable, Sendable, Hashable {
        /// 0 to 1.
        public var level: Double?
        public var muted: Bool?
        /// attenuation, fixed or master.
        public var kind: String?
        /// The smallest change that the device makes, 0 to 1.
        public var step: Double?
    }

    public struct App: Codable, Sendable, Hashable {
        public var id: String
        public var name: String?
        public var sessionID: String
        public var statusText: String?
        public var namespaces: [String]
    }

    public struct Member: Codable, Sendable, Hashable {
        public var id: String
        public var name: String?
        public var volume: Volume?
        public var plays: Bool
    }
}

/// What plays.
public struct CastMediaReport: Codable, Sendable, Hashable {
    public var mediaSessionID: Int
    /// idle, loading, buffering, playing or paused.
    public var state: String
    /// finished, cancelled, interrupted or error; only when idle.
    public var idleReason: String?
    public var url: String?
    public var contentType: String?
    /// none, buffered or live.
    public var stream: String?
    /// metadataType, 0 to 6.
    public var metadataType: Int?
    /// All metadata by the keys that they have on the wire: title, subtitle, artist, albumName and so on.
    public var metadata: [String: CastJSON]
    public var images: [String]
    /// Seconds, counted on to the moment of the report.
    public var position: Double
    public var duration: Double?
    public var rate: Double
    /// What may be done now, by name.
    public var commands: [String]
    public var streamVolume: CastDeviceReport.Volume?
    public var queue: Queue?
    public var tracks: [Track]
    public var ad: Ad?
    public var breaks: [Break]
    public var live: Live?
    public var video: Video?
    public var customData: CastJSON?

    public struct Queue: Codable, Sendable, Hashable {
        /// All items, where the device has told; else those about the current one.
        public var count: Int
        public var complete: Bool
        /// Of the current item, from 0.
        public var index: Int?
        public var sequenceNumber: Int?
        /// off, all, single or allAndShuffle.
        public var repeatMode: String?
        public var shuffle: Bool?
        public var items: [Item]
    }

    public struct Item: Codable, Sendable, Hashable {
        public var itemID: Int
        /// In the queue, from 0.
        public var index: Int
        /// current, loading or preloaded; nil for every other item.
        public var mark: String?
        /// Nil where the device has not told what the item is.
        public var url: String?
        public var contentType: String?
        public var title: String?
        public var artist: String?
        public var duration: Double?
        public var startTime: Double?
        public var preloadTime: Double?
        public var customData: CastJSON?
    }

    public struct Track: Codable, Sendable, Hashable {
        public var id: Int
        /// text, audio or video.
        public var kind: String
        /// subtitles, captions, descriptions, chapters or metadata.
        public var subtype: String?
        public var language: String?
        public var name: String?
        public var url: String?
        public var active: Bool
    }

    public struct Ad: Codable, Sendable, Hashable {
        public var breakID: String?
        public var clipID: String?
        public var title: String?
        /// Of the clips of the break, from 1.
        public var clip: Int?
        public var clips: Int?
        public var position: Double
        public var duration: Double?
        public var breakRemaining: Double?
        /// Seconds until it may be skipped, 0 from then on; nil: never.
        public var skippableIn: Double?
    }

    public struct Break: Codable, Sendable, Hashable {
        public var id: String
        /// Seconds into the item; -1: after its end.
        public var position: Double
        public var clips: [String]
        public var watched: Bool
        public var embedded: Bool
    }

    public struct Live: Codable, Sendable, Hashable {
        /// Seconds of the stream's own time, counted on to the moment of the report.
        public var start: Double
        public var end: Double
        /// Seconds behind what is live.
        public var behind: Double
        public var movingWindow: Bool
        public var done: Bool
    }

    public struct Video: Codable, Sendable, Hashable {
        /// Pixels.
        public var width: Int
        public var height: Int
        /// sdr, hdr or dv.
        public var hdr: String?
    }

    /// The title, or the last part of the address where there is none.
    public var title: String { text("title") ?? Self.name(of: url) ?? "something" }

    /// The text of one metadata field.
    public func text(_ key: String) -> String? { metadata[key]?.string.flatMap { $0.isEmpty ? nil : $0 } }

    static func name(of url: String?) -> String? {
        guard let path = url?.split(separator: "?").first else { return nil }
        return path.split(separator: "/").last.map(String.init)
    }
}

/// What a transfer did (C6).
public struct CastTransferReport: Codable, Sendable, Hashable {
    public var from: String
    public var to: String
    /// session: the app stored and resumed it; load: it was loaded again at its position.
    public var method: String
    public var title: String
    /// Seconds at which it went on.
    public var position: Double
    public var items: Int
}
