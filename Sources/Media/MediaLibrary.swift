import Logging
import RouteBackend
import RouteModel

public actor MediaLibrary {
    let configuration: MediaConfiguration
    let clock: any HostClock
    let logger: Logger
    let ffmpeg: MediaTool
    private var feeds: [Int: Task<Void, Never>] = [:]
    private var nextFeed = 0

    public init(configuration: MediaConfiguration = MediaConfiguration(), clock: any HostClock, logger: Logger) {
        self.configuration = configuration
        self.clock = clock
        self.logger = logger
        ffmpeg = MediaTool(program: configuration.ffmpeg, clock: clock)
    }

    public func feed(_ first: FeedItem, events: FeedEvents) async throws -> any AudioFeed {
        let buffer = FeedBuffer(
            aheadSeconds: configuration.decodeAheadSeconds, retainedSeconds: configuration.retainedSeconds)
        let decoder = FeedDecoder(tool: ffmpeg, buffer: buffer, events: events)
        let number = nextFeed
        nextFeed += 1
        let task = Task { [weak self] in
            await decoder.run(first)
            await self?.feedEnded(number)
        }
        feeds[number] = task
        return DecodedFeed(buffer: buffer, decoding: task)
    }

    /// How many decoders run or wait.
    var activeFeeds: Int { feeds.count }

    public func stop() async {
        let running = feeds.values
        for task in running { task.cancel() }
        for task in running { await task.value }
    }

    private func feedEnded(_ number: Int) { feeds[number] = nil }
}
