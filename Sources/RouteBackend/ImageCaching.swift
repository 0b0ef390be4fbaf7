import RouteModel

/// What the first bytes of a picture say.
public struct ImageFacts: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable { case jpeg, png, gif, webp }

    public var kind: Kind
    /// Pixels, 1 to 65,535.
    public var width: Int
    public var height: Int

    public init(kind: Kind, width: Int, height: Int) {
        self.kind = kind
        self.width = width
        self.height = height
    }

    public var mimeType: String { "image/\(kind.rawValue)" }
}

/// A picture of the web.
public struct CachedImage: Sendable, Hashable {
    public var facts: ImageFacts
    public var bytes: [UInt8]

    public init(facts: ImageFacts, bytes: [UInt8]) {
        self.facts = facts
        self.bytes = bytes
    }
}

/// Pictures by their addresses (C18). Replaceable: a caller with a store of its own hands that to `MediaLibrary`.
public protocol ImageCaching: Sendable {
    /// The picture at an `http` or `https` address, from the cache while it is fresh.
    ///
    /// Throws `mediaNotFound`, `mediaForbidden`, `mediaUnreachable`, `mediaUnsupported` (no picture, another kind, or
    /// too large), `timeout` or `cancelled`.
    func image(_ url: String) async throws -> CachedImage

    /// Ends what is under way.
    func stop() async
}
