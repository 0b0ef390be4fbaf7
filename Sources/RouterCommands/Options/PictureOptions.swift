import ArgumentParser
import RouteModel

/// Whether a picture may be shown on receivers (A6).
struct PictureOptions: ParsableArguments {
    @Flag(
        name: .long, inversion: .prefixedNo,
        help: ArgumentHelp(
            "Show the picture of these on receivers, whatever the configuration says of where they come from; or, "
                + "with --no-picture, let only the sound be heard."))
    var picture: Bool?

    /// Of items that are put into a queue; nil where nothing was said.
    var settings: QueueItemSettings? { picture.map { QueueItemSettings(externalPlayback: $0) } }
}
