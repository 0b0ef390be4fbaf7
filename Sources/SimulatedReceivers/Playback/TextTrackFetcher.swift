import Foundation

/// A text track, or the reason why there is none.
struct FetchedText: Sendable {
    var track: Int
    var url: String
    var fetch: MediaFetch?
    var result: Result<[WebVTTCue], TextTrackError>
}

struct TextTrackError: Error, Sendable, Hashable, CustomStringConvertible {
    var description: String
}

/// Fetches side-loaded text as a web page does: only from servers that allow it.
struct TextTrackFetcher: Sendable {
    static let maximumBytes = 4 << 20

    struct Order: Sendable, Hashable {
        var url: String
        var track: Int
    }

    private actor Body {
        var bytes: [UInt8] = []
        var fetch: MediaFetch?

        func append(_ part: [UInt8]) throws {
            guard bytes.count + part.count <= TextTrackFetcher.maximumBytes else {
                throw TextTrackError(
                    description: "the text track is larger than \(TextTrackFetcher.maximumBytes) bytes")
            }
            bytes += part
        }

        func note(_ fetch: MediaFetch) { self.fetch = fetch }
    }

    func fetch(_ order: Order) async -> FetchedText {
        let body = Body()
        func failed(_ reason: String) async -> FetchedText {
            FetchedText(
                track: order.track, url: order.url, fetch: await body.fetch,
                result: .failure(TextTrackError(description: reason)))
        }
        guard let url = URL(string: order.url) else { return await failed("not a URL that can be fetched") }
        do {
            try await MediaFetcher(origin: SimulatedPlayer.webOrigin).fetch(url) { part in
                switch part {
                case .head(let head): try head.checkOrigin(SimulatedPlayer.webOrigin)
                case .bytes(let bytes): try await body.append(bytes)
                case .exchange(let fetch): await body.note(fetch)
                }
            }
            let cues = try WebVTT.cues(of: await body.bytes)
            return FetchedText(track: order.track, url: order.url, fetch: await body.fetch, result: .success(cues))
        } catch {
            return await failed("\(error)")
        }
    }
}
