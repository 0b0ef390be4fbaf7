/// One occurrence of something to play.
///
/// Its content is shared by its copies: a queue of a hundred thousand is copied by counting, not by copying text.
public struct QueueItem: Codable, Sendable, Hashable, Identifiable {
    /// The bytes that `custom` may be of.
    public static let maximumCustomBytes = 16 * 1024

    @usableFromInline struct Fields: Codable, Hashable, Sendable {
        var id: ItemID
        var source: MediaSource
        var metadata: MediaMetadata
        var start: MediaTime
        var failure: String?
        var context: String?
        var subtitles: SubtitleRequest?
        var addedBy: CommandOrigin?
        var end: MediaTime?
        var externalPlayback: Bool?
        var custom: String?
    }

    @usableFromInline final class Content: Sendable {
        let fields: Fields
        init(_ fields: Fields) { self.fields = fields }
    }

    @usableFromInline var content: Content

    public init(
        id: ItemID, source: MediaSource, metadata: MediaMetadata = MediaMetadata(), start: MediaTime = .zero,
        failure: String? = nil, context: String? = nil, subtitles: SubtitleRequest? = nil,
        addedBy: CommandOrigin? = nil, end: MediaTime? = nil, externalPlayback: Bool? = nil, custom: String? = nil
    ) {
        content = Content(
            Fields(
                id: id, source: source, metadata: metadata, start: start, failure: failure, context: context,
                subtitles: subtitles, addedBy: addedBy, end: end, externalPlayback: externalPlayback, custom: custom))
    }

    public init(from decoder: any Decoder) throws { content = Content(try Fields(from: decoder)) }

    public func encode(to encoder: any Encoder) throws { try content.fields.encode(to: encoder) }

    public static func == (left: QueueItem, right: QueueItem) -> Bool {
        left.content === right.content || left.content.fields == right.content.fields
    }

    public func hash(into hasher: inout Hasher) { content.fields.hash(into: &hasher) }

    /// Tells copies of one value, cheaply: equal items may have several, items that differ never one.
    @inlinable package var identity: ObjectIdentifier { ObjectIdentifier(content) }

    private func with(_ change: (inout Fields) -> Void) -> Content {
        var fields = content.fields
        change(&fields)
        return Content(fields)
    }

    public var id: ItemID {
        get { content.fields.id }
        set { content = with { $0.id = newValue } }
    }

    public var source: MediaSource {
        get { content.fields.source }
        set { content = with { $0.source = newValue } }
    }

    public var metadata: MediaMetadata {
        get { content.fields.metadata }
        set { content = with { $0.metadata = newValue } }
    }

    /// Where in the media to begin.
    public var start: MediaTime {
        get { content.fields.start }
        set { content = with { $0.start = newValue } }
    }

    /// Nil while unknown; a reason once it is known not to play.
    public var failure: String? {
        get { content.fields.failure }
        set { content = with { $0.failure = newValue } }
    }

    /// What it was taken from (an album's folder, a playlist), for people.
    public var context: String? {
        get { content.fields.context }
        set { content = with { $0.context = newValue } }
    }

    /// Nil: what there is stays on offer, and forced subtitles are shown.
    public var subtitles: SubtitleRequest? {
        get { content.fields.subtitles }
        set { content = with { $0.subtitles = newValue } }
    }

    /// Who put it there, where that was not the queue's own maker.
    public var addedBy: CommandOrigin? {
        get { content.fields.addedBy }
        set { content = with { $0.addedBy = newValue } }
    }

    /// Where in the media to stop and go on with the next item; nil is its end.
    public var end: MediaTime? {
        get { content.fields.end }
        set { content = with { $0.end = newValue } }
    }

    /// False: its picture is not to be shown on receivers (A6). Its sound always may.
    public var externalPlayback: Bool? {
        get { content.fields.externalPlayback }
        set { content = with { $0.externalPlayback = newValue } }
    }

    /// A JSON document of the client's, passed through unread; at most 16 KiB.
    public var custom: String? {
        get { content.fields.custom }
        set { content = with { $0.custom = newValue } }
    }

    /// The title, or failing that the file's name.
    public var title: String { content.fields.metadata.title ?? content.fields.source.label }

    /// Where it stops, as far as that is known.
    public var knownEnd: MediaTime? {
        let fields = content.fields
        guard let end = fields.end else { return fields.metadata.duration }
        return fields.metadata.duration.map { min($0, end) } ?? end
    }
}
