/// How early a receiver must have the first packets of a run, by what it says of itself. Pure
/// (`Protocols/airplay/README.md`, “Starting soon”).
struct AirPlayStartLead: Sendable, Hashable {
    /// Milliseconds beyond what the device adds by itself: for the way there, and for one packet to be asked for again.
    private static let margin = 100
    /// What devices add by themselves, where they say nothing else: 11,025 frames of 44,100.
    private static let usualLatency = 250
    /// shairport-sync fills the buffer of an output without a clock (a pipe, standard output) a second ahead, and is late
    /// for good where it could not. Which output it has, it does not say.
    private static let secondAhead = 1350
    /// Told of a clock and of a time on it only with the first packets, a device needs longer.
    private static let buffered = 800

    /// Makers whose devices start only once they have gathered all that they would ever hold.
    private static let gatherers = ["linkplay", "wiim", "edifier", "arylic", "audio pro", "ieast"]

    /// Milliseconds; nil: all of the queue.
    var milliseconds: Int?

    /// - Parameters:
    ///   - model: `am` or `model` of its record, or of `/info`.
    ///   - manufacturer: of its record.
    ///   - latency: milliseconds that it says it adds by itself.
    ///   - isBuffered: whether it holds the stream itself.
    init(model: String?, manufacturer: String?, latency: Int? = nil, isBuffered: Bool = false) {
        let names = [model, manufacturer].compactMap { $0?.lowercased() }
        if names.contains(where: { name in Self.gatherers.contains { name.contains($0) } }) {
            milliseconds = nil
        } else if model == nil || names.contains(where: { $0.contains("shairport") }) {
            // Without a name it may well be shairport-sync.
            milliseconds = Self.secondAhead
        } else {
            milliseconds = max(
                max(latency ?? 0, Self.usualLatency) + Self.margin, isBuffered ? Self.buffered : 0)
        }
    }

    /// In frames, at most `lead`.
    func frames(sampleRate: Int, lead: Int) -> Int { min(lead, milliseconds.map { $0 * sampleRate / 1000 } ?? lead) }
}
