/// Metadata by type (`Protocols/cast` section 7): a type takes the fields that it knows, and only these are sent.
public struct CastMediaMetadata: Sendable, Hashable {
    /// `metadataType`, 0 to 6.
    public enum Kind: Int, Sendable, Hashable, CaseIterable {
        case generic = 0
        case movie, tvShow, musicTrack, photo, audiobookChapter, audiobook
    }

    /// A field by the key it has in JSON.
    public enum Field: String, Sendable, Hashable, CaseIterable {
        case title, subtitle, releaseDate, studio
        case seriesTitle, season, episode, originalAirdate
        case albumName, albumArtist, artist, composer, songName, trackNumber, discNumber
        case location, latitude, longitude, width, height, creationDateTime
        case bookTitle, chapterTitle, chapterNumber, authors, narrators, publisher

        var isNumber: Bool {
            switch self {
            case .season, .episode, .trackNumber, .discNumber, .latitude, .longitude, .width, .height, .chapterNumber:
                true
            default: false
            }
        }
    }

    public enum Value: Sendable, Hashable {
        case text(String)
        case number(Double)
    }

    public var kind: Kind
    public private(set) var values: [Field: Value]
    public var images: [CastImage]

    public init(kind: Kind, images: [CastImage] = []) {
        self.kind = kind
        self.values = [:]
        self.images = images
    }

    public subscript(text field: Field) -> String? {
        get { if case .text(let text) = values[field] { text } else { nil } }
        set { values[field] = newValue.map(Value.text) }
    }

    public subscript(number field: Field) -> Double? {
        get { if case .number(let number) = values[field] { number } else { nil } }
        set { values[field] = newValue.map(Value.number) }
    }

    public static func fields(of kind: Kind) -> Set<Field> {
        switch kind {
        case .generic: [.title, .subtitle, .releaseDate]
        case .movie: [.title, .subtitle, .studio, .releaseDate]
        case .tvShow: [.seriesTitle, .title, .subtitle, .season, .episode, .originalAirdate]
        case .musicTrack:
            [
                .albumName, .title, .albumArtist, .artist, .composer, .songName, .trackNumber, .discNumber,
                .releaseDate,
            ]
        case .photo: [.title, .artist, .location, .latitude, .longitude, .width, .height, .creationDateTime]
        case .audiobookChapter: [.bookTitle, .chapterTitle, .chapterNumber, .title, .subtitle]
        case .audiobook: [.title, .subtitle, .authors, .narrators, .publisher, .releaseDate]
        }
    }

    public var json: CastJSON {
        var fields: [String: CastJSON] = ["metadataType": .number(Double(kind.rawValue))]
        for field in Self.fields(of: kind) {
            switch values[field] {
            case .text(let text): fields[field.rawValue] = .string(text)
            case .number(let number): fields[field.rawValue] = .number(number)
            case nil: break
            }
        }
        if !images.isEmpty { fields["images"] = .array(images.map(\.json)) }
        return .object(fields)
    }

    /// Reads what a receiver says; an unknown type is read as generic, and fields of other types are kept.
    init?(json: CastJSON) {
        guard json.object != nil else { return nil }
        self.init(
            kind: (json["metadataType"].int ?? json["type"].int).flatMap(Kind.init) ?? .generic,
            images: json["images"].elements.compactMap(CastImage.init(json:)))
        for field in Field.allCases {
            let value = json[field.rawValue]
            if field.isNumber {
                self[number: field] = value.double
            } else {
                self[text: field] = value.string
            }
        }
    }
}
