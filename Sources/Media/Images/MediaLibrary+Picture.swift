import RouteBackend
import RouteModel

extension MediaLibrary {
    /// Pictures of the web that are tried for one item.
    private static let maximumTries = 3

    /// An item's picture for a desktop: the first that it names and that can be had, failing that the one in its file or
    /// beside it; nil where there is none.
    public func picture(of item: QueueItem) async -> [UInt8]? {
        for image in item.metadata.images.prefix(Self.maximumTries) where InputArguments.isWeb(image.url) {
            if let found = try? await images.image(image.url) { return found.bytes }
        }
        return await artwork(item.source, within: .display)?.bytes
    }
}
