import RouteModel

/// Asks an address whose name says nothing what it is, as a feed's often does: `https://feeds.example/show`.
struct TrackLooker: Sendable {
    private static let redirects = 5

    let fetcher: HTTPFetcher
    /// That the answer may take.
    let seconds: Int

    /// Nil for what is no list of tracks, and for what does not answer, which whoever plays it will say better. Throws
    /// `mediaUnsupported` for a list that is too long, and `cancelled`.
    func look(_ url: String, limit: Int) async throws -> TrackDocument? {
        let limits = HTTPFetchLimits(bytes: limit, redirects: Self.redirects, seconds: seconds)
        do {
            let headers = [("Accept", "*/*")]
            let answer = try await fetcher.get(url, headers: headers, limits: limits) { Self.isList($0) }
            guard Self.isList(answer), let type = answer["Content-Type"] else { return nil }
            return TrackDocument(sources: TrackSources.typed(type), bytes: answer.body)
        } catch let error as RouterError where [.mediaUnreachable, .timeout].contains(error.code) {
            return nil
        }
    }

    private static func isList(_ answer: HTTPAnswer) -> Bool {
        guard answer.status == 200, let type = answer["Content-Type"] else { return false }
        return !TrackSources.typed(type).isEmpty
    }
}
