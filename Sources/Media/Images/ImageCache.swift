import Foundation
import Logging
import RouteBackend
import RouteModel

/// Pictures of the web, kept within bounds of bytes and number while they are fresh, then asked for again by their
/// entity tags (RFC 9111).
public actor ImageCache: ImageCaching {
    public struct Limits: Sendable {
        /// Bytes of all that is kept.
        public var bytes: Int
        public var count: Int
        /// Bytes of one picture.
        public var imageBytes: Int
        /// Seconds for which a picture without a word about it is fresh, and at most.
        public var usualSeconds: Int
        public var longestSeconds: Int
        public var redirects: Int
        /// Seconds that one request may take.
        public var requestSeconds: Int

        public init(
            bytes: Int = 64 << 20, count: Int = 256, imageBytes: Int = 8 << 20, usualSeconds: Int = 3600,
            longestSeconds: Int = 604_800, redirects: Int = 5, requestSeconds: Int = 20
        ) {
            self.bytes = bytes
            self.count = count
            self.imageBytes = imageBytes
            self.usualSeconds = usualSeconds
            self.longestSeconds = longestSeconds
            self.redirects = redirects
            self.requestSeconds = requestSeconds
        }
    }

    private struct Entry {
        var image: CachedImage
        var entityTag: String?
        var lastModified: String?
        var freshUntil: Int64
        var used: Int
    }

    private let limits: Limits
    private let clock: any HostClock
    private let logger: Logger
    private let fetcher: any HTTPFetching
    private var entries: [String: Entry] = [:]
    private var work: [String: Task<CachedImage, any Error>] = [:]
    private var uses = 0
    private var stopped = false

    public init(limits: Limits = Limits(), clock: any HostClock, logger: Logger) {
        self.init(limits: limits, clock: clock, logger: logger, fetcher: HTTPFetcher(clock: clock))
    }

    init(limits: Limits, clock: any HostClock, logger: Logger, fetcher: any HTTPFetching) {
        self.limits = limits
        self.clock = clock
        self.logger = logger
        self.fetcher = fetcher
    }

    public func image(_ url: String) async throws -> CachedImage {
        uses += 1
        if let entry = entries[url], entry.freshUntil > clock.now() {
            entries[url]?.used = uses
            return entry.image
        }
        if let running = work[url] { return try await running.value }
        guard !stopped else { throw RouterError(.cancelled, "the image cache is stopped") }
        let task = Task { try await load(url) }
        work[url] = task
        defer { work[url] = nil }
        return try await task.value
    }

    public func stop() async {
        stopped = true
        let running = work.values
        for task in running { task.cancel() }
        for task in running { _ = try? await task.value }
    }

    /// How much is kept.
    var kept: (count: Int, bytes: Int) { (entries.count, entries.values.reduce(0) { $0 + $1.image.bytes.count }) }

    private func load(_ url: String) async throws -> CachedImage {
        let old = entries[url]
        var headers: [(String, String)] = [("Accept", "image/jpeg, image/png, image/webp, image/gif")]
        if let tag = old?.entityTag { headers.append(("If-None-Match", tag)) }
        if let date = old?.lastModified { headers.append(("If-Modified-Since", date)) }
        let answer: HTTPAnswer
        do {
            answer = try await fetcher.get(
                url, headers: headers,
                limits: HTTPFetchLimits(
                    bytes: limits.imageBytes, redirects: limits.redirects, seconds: limits.requestSeconds))
        } catch let error as RouterError where old != nil && [.mediaUnreachable, .timeout].contains(error.code) {
            // What was right a while ago is better than nothing (RFC 9111, section 4.2.4).
            logger.debug("a picture is shown though it is old: \(error.message)")
            if let old { return old.image }
            throw error
        }
        if answer.status == 304, let old {
            keep(url, old.image, answer, old)
            return old.image
        }
        let label = MediaSource.url(url).label
        switch answer.status {
        case 200: break
        case 401, 403:
            throw RouterError(
                .mediaForbidden, "the picture \(label) is not given to us (\(answer.status))", scope: .item)
        case 404, 410:
            throw RouterError(.mediaNotFound, "the picture \(label) is not there (\(answer.status))", scope: .item)
        default:
            throw RouterError(
                .mediaUnreachable, "the server of the picture \(label) answered \(answer.status)", scope: .item,
                retry: .later)
        }
        guard let facts = ImageFacts(answer.body) else {
            throw RouterError(
                .mediaUnsupported, "\(label) is no JPEG, PNG, WebP or GIF",
                hint: "Name a picture of one of these kinds",
                scope: .item)
        }
        let image = CachedImage(facts: facts, bytes: answer.body)
        keep(url, image, answer, nil)
        return image
    }

    private func keep(_ url: String, _ image: CachedImage, _ answer: HTTPAnswer, _ old: Entry?) {
        let control = CacheControl(answer["Cache-Control"])
        guard !control.forbidsKeeping else {
            entries[url] = nil
            return
        }
        let seconds = control.asksAlways ? 0 : min(control.maximumAge ?? limits.usualSeconds, limits.longestSeconds)
        uses += 1
        entries[url] = Entry(
            image: image, entityTag: answer["ETag"] ?? old?.entityTag,
            lastModified: answer["Last-Modified"] ?? old?.lastModified,
            freshUntil: clock.now() + Int64(seconds) * 1_000_000_000, used: uses)
        var bytes = kept.bytes
        while entries.count > limits.count || bytes > limits.bytes,
            let oldest = entries.min(by: { $0.value.used < $1.value.used })
        {
            bytes -= oldest.value.image.bytes.count
            entries[oldest.key] = nil
        }
    }
}

/// What a `Cache-Control` header says to us (RFC 9111, section 5.2.2).
struct CacheControl: Sendable, Equatable {
    var forbidsKeeping = false
    var asksAlways = false
    /// Seconds.
    var maximumAge: Int?

    init(_ header: String?) {
        for part in (header ?? "").lowercased().split(separator: ",").prefix(32) {
            let word = part.trimmingCharacters(in: .whitespaces)
            switch word {
            case "no-store": forbidsKeeping = true
            case "no-cache": asksAlways = true
            case _ where word.hasPrefix("max-age="):
                let digits = word.dropFirst("max-age=".count).trimmingCharacters(in: ["\""])
                // More than 64 bits hold is as good as the greatest (section 1.2.2).
                if !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }) {
                    maximumAge = Int(digits) ?? .max
                }
            default: continue
            }
        }
    }
}
