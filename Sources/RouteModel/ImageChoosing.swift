/// Where a picture is to be shown.
public enum ImageUse: String, Codable, Sendable, Hashable, CaseIterable {
    /// The list of rooms.
    case picker
    /// The mini controller.
    case mini
    /// The full-page controller.
    case expanded
    case lockScreen
}

/// A size in pixels, both at least 1.
public struct ImageSize: Codable, Sendable, Hashable {
    public var width: Int
    public var height: Int

    public init(width: Int, height: Int) {
        self.width = max(1, width)
        self.height = max(1, height)
    }
}

/// Chooses among an item's pictures (C18). Replaceable: a caller with pictures of its own hands over its own chooser,
/// which may also answer with an address that is not among them.
public protocol ImageChoosing: Sendable {
    /// The picture for this use at this size; nil shows none.
    func image(for use: ImageUse, size: ImageSize, of metadata: MediaMetadata) -> MediaImage?
}

/// The default: the first picture, whatever it is to be used for.
public struct FirstImage: ImageChoosing {
    public init() {}

    public func image(for use: ImageUse, size: ImageSize, of metadata: MediaMetadata) -> MediaImage? {
        metadata.images.first
    }
}

/// The smallest picture that fills the wanted size, failing that the largest; among equals the first. A picture whose
/// size is not said counts as large as its role lets one think.
public struct FittingImage: ImageChoosing {
    public init() {}

    public func image(for use: ImageUse, size: ImageSize, of metadata: MediaMetadata) -> MediaImage? {
        let roles = Self.roles(use)
        let candidates = metadata.images.filter { roles.contains($0.role) }
        let images = candidates.isEmpty ? metadata.images : candidates
        let sized = images.map { ($0, Self.size($0)) }
        let filling = sized.filter { $0.1.width >= size.width && $0.1.height >= size.height }
        if let best = Self.first(filling, where: { Self.area($0) < Self.area($1) }) { return best }
        return Self.first(sized, where: { Self.area($0) > Self.area($1) })
    }

    /// The first of those that no other is better than.
    private static func first(
        _ images: [(MediaImage, ImageSize)], where isBetter: (ImageSize, ImageSize) -> Bool
    ) -> MediaImage? {
        guard var best = images.first else { return nil }
        for image in images.dropFirst() where isBetter(image.1, best.1) { best = image }
        return best.0
    }

    private static func area(_ size: ImageSize) -> Int {
        size.width.multipliedReportingOverflow(by: size.height).overflow ? .max : size.width * size.height
    }

    private static func size(_ image: MediaImage) -> ImageSize {
        let usual = image.role == .thumbnail ? 320 : 1280
        return ImageSize(
            width: image.width ?? image.height ?? usual, height: image.height ?? image.width ?? usual)
    }

    /// What may stand for the item there; a logo or a background nowhere but on a whole page.
    private static func roles(_ use: ImageUse) -> Set<MediaImage.Role> {
        switch use {
        case .picker, .mini: [.cover, .thumbnail]
        case .lockScreen: [.cover, .thumbnail, .background]
        case .expanded: [.cover, .background]
        }
    }
}
