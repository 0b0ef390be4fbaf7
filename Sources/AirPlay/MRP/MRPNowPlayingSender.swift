import Foundation
import SwiftProtobuf

/// Decides what to say over a data stream when what plays here has changed (`Protocols/mrp`, “What plays here”). Pure.
public struct MRPNowPlayingSender: Sendable {
    /// Seconds that the device's own counting may be off before it is told.
    static let tolerance = 0.25
    /// What may be asked of us at the device.
    static let offered: [MRPCommand] = [
        .play, .pause, .togglePlayPause, .nextTrack, .previousTrack, .skipForward, .skipBackward,
        .seekToPlaybackPosition,
    ]

    private let path: MRPPlayerPath
    private var last: AirPlayNowPlaying?

    /// - Parameter device: who we are, as the stream says it.
    public init(device: MRPDeviceInfo) {
        var path = MRPPlayerPath()
        path.origin.type = 1
        path.origin.displayName = device.name
        path.client.bundleIdentifier =
            device.hasApplicationBundleIdentifier ? device.applicationBundleIdentifier : "router"
        path.client.displayName = device.name
        path.player.identifier = "router"
        path.player.displayName = device.name
        path.player.isDefault = true
        self.path = path
    }

    /// The messages that tell of this, in order. None where the device knows all of it.
    public mutating func show(_ item: AirPlayNowPlaying) -> [MRPProtocolMessage] {
        guard let before = last else {
            last = item
            return [client, player, state(item, whole: true)]
        }
        guard item.isSameItem(as: before) else {
            last = item
            return [state(item, whole: true)]
        }
        let drift = before.extrapolated(to: item.instant) - item.elapsed
        // As told: later drift is measured from there.
        if item.state == before.state, abs(drift) <= Self.tolerance { return [] }
        last = item
        if item.state == .stopped { return [state(item, whole: false)] }
        let moved = place(item)
        return item.state == before.state ? [moved] : [moved, state(item, whole: false)]
    }

    /// The answer to a device that asks for the queue; nil where nothing was shown.
    public func queue(answering identifier: String) -> MRPProtocolMessage? {
        guard let last else { return nil }
        var message = state(last, whole: true)
        message.identifier = identifier
        return message
    }

    private var client: MRPProtocolMessage {
        var message = MRPProtocolMessage(.setNowPlayingClient)
        message.setNowPlayingClient.client = path.client
        return message
    }

    private var player: MRPProtocolMessage {
        var message = MRPProtocolMessage(.setNowPlayingPlayer)
        message.setNowPlayingPlayer.playerPath = path
        return message
    }

    /// - Parameter whole: with the item and what may be asked.
    private func state(_ item: AirPlayNowPlaying, whole: Bool) -> MRPProtocolMessage {
        var message = MRPProtocolMessage(.setState)
        message.setState.playerPath = path
        message.setState.displayID = path.client.bundleIdentifier
        message.setState.displayName = path.client.displayName
        message.setState.playbackState = Int32(item.state.rawValue)
        message.setState.playbackStateTimestamp = item.instant
        guard whole else { return message }
        var content = MRPContentItem()
        content.identifier = Self.name(item)
        content.metadata = Self.timeline(item)
        content.metadata.title = item.title ?? ""
        if let artist = item.artist { content.metadata.trackArtistName = artist }
        if let album = item.album { content.metadata.albumName = album }
        if let genre = item.genre { content.metadata.genre = genre }
        if let composer = item.composer { content.metadata.composer = composer }
        if let number = item.trackNumber { content.metadata.trackNumber = Int32(clamping: number) }
        if let number = item.discNumber { content.metadata.discNumber = Int32(clamping: number) }
        if item.isLive { content.metadata.isAlwaysLive = true }
        content.metadata.mediaType = 1
        content.metadata.contentIdentifier = Self.name(item)
        if let artwork = item.artwork {
            content.metadata.artworkAvailable = true
            content.metadata.artworkMimeType = artwork.mimeType
            content.metadata.artworkIdentifier = artwork.identifier
            content.artworkData = Data(artwork.bytes)
        }
        message.setState.playbackQueue.location = 0
        message.setState.playbackQueue.contentItems = [content]
        message.setState.supportedCommands.commands = Self.offered.map { command in
            var info = MRPCommandInfo()
            info.command = command.rawValue
            info.enabled = true
            if command == .skipForward || command == .skipBackward {
                info.preferredIntervals = [MRPSendCommand.defaultSkip]
            }
            return info
        }
        return message
    }

    private func place(_ item: AirPlayNowPlaying) -> MRPProtocolMessage {
        var content = MRPContentItem()
        content.identifier = Self.name(item)
        content.metadata = Self.timeline(item)
        var message = MRPProtocolMessage(.updateContentItem)
        message.updateContentItem.playerPath = path
        message.updateContentItem.contentItems = [content]
        return message
    }

    private static func timeline(_ item: AirPlayNowPlaying) -> MRPContentItemMetadata {
        var metadata = MRPContentItemMetadata()
        metadata.elapsedTime = item.elapsed
        metadata.elapsedTimeTimestamp = item.instant
        metadata.playbackRate = Float(item.rate)
        if let duration = item.duration { metadata.duration = duration }
        return metadata
    }

    private static func name(_ item: AirPlayNowPlaying) -> String { String(item.identifier, radix: 16) }
}
