import SwiftProtobuf
import Testing

@testable import AirPlay

@Suite("A9 A10 /command both ways")
struct NowPlayingTests {
    // MARK: From the receiver

    @Test(
        "buttons by their letters",
        arguments: [
            ("play", AirPlayRemoteCommand.play), ("paus", .pause), ("plps", .toggle), ("nitm", .next),
            ("pitm", .previous), ("stop", .stop),
        ])
    func letters(value: String, command: AirPlayRemoteCommand) throws {
        let body = PropertyList.dictionary(["type": .string("sendMediaRemoteCommand"), "value": .string(value)])
        #expect(AirPlayEventMessage(parsing: body.encoded()) == .command(command))
        #expect(AirPlayEventMessage.command(command).body == body)
    }

    @Test("what is not known is passed over, and what is no message is told apart from it")
    func unknown() {
        func parse(_ list: PropertyList) -> AirPlayEventMessage? { AirPlayEventMessage(parsing: list.encoded()) }
        #expect(
            parse(.dictionary(["type": .string("sendMediaRemoteCommand"), "value": .string("boom")]))
                == .unknown(type: "sendMediaRemoteCommand", value: "boom"))
        #expect(
            parse(.dictionary(["type": .string("sendMediaRemoteCommand"), "value": .integer(1)]))
                == .unknown(type: "sendMediaRemoteCommand", value: nil))
        #expect(
            parse(.dictionary(["type": .string("somethingNew")])) == .unknown(type: "somethingNew", value: nil))
        #expect(parse(.dictionary(["type": .integer(3)])) == nil)
        #expect(parse(.array([])) == nil)
        #expect(AirPlayEventMessage(parsing: []) == nil)
        #expect(AirPlayEventMessage(parsing: Array("bplist00".utf8)) == nil)
        #expect(AirPlayEventMessage(parsing: [UInt8](repeating: 0xFF, count: 4096)) == nil)
    }

    @Test("updateInfo may tell the volume")
    func updateInfo() {
        let message = AirPlayEventMessage(
            .dictionary([
                "type": .string("updateInfo"), "value": .dictionary(["volume": .real(-12), "name": .string("Küche")]),
            ]))
        #expect(message?.volume == -12)
        #expect(AirPlayEventMessage(.dictionary(["type": .string("updateInfo")]))?.volume == nil)
    }

    @Test("the two numberings of commands differ, and are read each by its own")
    func numberings() {
        #expect(NowPlayingCommandNumber(rawValue: 0)?.remoteCommand == .play)
        #expect(NowPlayingCommandNumber(rawValue: 4)?.remoteCommand == .next)
        #expect(NowPlayingCommandNumber.allCases.map(\.rawValue).contains(24))
        var command = MRPSendCommand()
        command.command = 5
        #expect(command.remoteCommand == .next)
        command.command = 0
        #expect(command.remoteCommand == nil)
        command.command = 45
        #expect(command.remoteCommand == nil, "no place was named")
        command.options.playbackPosition = 12.5
        #expect(command.remoteCommand == .seek(to: 12.5))
        command.options.playbackPosition = .infinity
        #expect(command.remoteCommand == nil)
    }

    @Test("each command that MRP has comes back as itself")
    func roundTrip() throws {
        let commands: [AirPlayRemoteCommand] = [
            .play, .pause, .toggle, .stop, .next, .previous, .toggleShuffle, .advanceRepeat, .beginFastForward,
            .beginRewind, .endSearch, .skip(by: 30), .skip(by: -10), .seek(to: 3.5), .setRepeat(.off),
            .setRepeat(.one), .setRepeat(.all), .setShuffle(true), .setShuffle(false),
        ]
        for command in commands {
            let message = try #require(MRPSendCommand(command))
            let decoded = try MRPSendCommand(serializedBytes: try message.serializedBytes() as [UInt8])
            #expect(decoded.remoteCommand == command)
        }
        #expect(MRPSendCommand(.volumeUp) == nil)
    }

    // MARK: To the receiver

    static func item(
        _ identifier: UInt64 = 1, title: String = "Ohne Titel", elapsed: Double = 0, at instant: Double = 1000,
        _ state: AirPlayNowPlaying.State = .playing, artwork: [UInt8]? = nil
    ) -> AirPlayNowPlaying {
        AirPlayNowPlaying(
            identifier: identifier, title: title, artist: "Ляпис", album: "מוזיקה", duration: 200,
            artwork: artwork.map { .init(mimeType: "image/jpeg", bytes: $0, identifier: "art") }, elapsed: elapsed,
            instant: instant, state: state)
    }

    /// A sender that can be asked inside an expectation.
    final class Asked {
        private var sender = AirPlayNowPlayingSender(
            identifier: "me", name: "router", sessionID: "S", groupID: "G", processIdentifier: 42)
        func show(_ item: AirPlayNowPlaying) -> [AirPlayCommandMessage] { sender.show(item) }
        func refused(_ message: AirPlayCommandMessage) -> AirPlayCommandMessage? { sender.refused(message) }
    }

    private func kinds(_ messages: [AirPlayCommandMessage]) -> [String] {
        messages.map { message in
            switch message {
            case .deviceInfo: "device"
            case .replace: "replace"
            case .update: "update"
            case .supportedCommands: "commands"
            case .playbackState(let state): "\(state)"
            case .nowPlayingClient: "client"
            }
        }
    }

    @Test("the first time: who we are, all of it, what may be pressed, the state and the client, in this order")
    func first() {
        let sender = Asked()
        #expect(kinds(sender.show(Self.item())) == ["device", "replace", "commands", "playing", "client"])
    }

    @Test("as time goes by nothing is sent; a seek, a pause and another item are")
    func changes() {
        let sender = Asked()
        _ = sender.show(Self.item(artwork: [1]))
        #expect(sender.show(Self.item(elapsed: 10, at: 1010, artwork: [1])).isEmpty)
        #expect(sender.show(Self.item(elapsed: 10.2, at: 1010, artwork: [1])).isEmpty)
        #expect(kinds(sender.show(Self.item(elapsed: 90, at: 1011, artwork: [1]))) == ["update"])
        #expect(kinds(sender.show(Self.item(elapsed: 91, at: 1012, .paused, artwork: [1]))) == ["update", "paused"])
        #expect(sender.show(Self.item(elapsed: 91, at: 1099, .paused, artwork: [1])).isEmpty, "paused stays there")
        #expect(kinds(sender.show(Self.item(elapsed: 91, at: 1100, artwork: [1]))) == ["update", "playing"])
        #expect(kinds(sender.show(Self.item(2, title: "Next", at: 1200, artwork: [1]))) == ["replace"])
        #expect(kinds(sender.show(Self.item(2, title: "Next", at: 1200, artwork: [2]))) == ["replace"])
        #expect(kinds(sender.show(Self.item(2, title: "Next", at: 1201, .stopped, artwork: [2]))) == ["stopped"])
    }

    @Test("small drifts add up: what counts is what the receiver was told")
    func drift() {
        let sender = Asked()
        _ = sender.show(Self.item())
        #expect(sender.show(Self.item(elapsed: 10.2, at: 1010)).isEmpty)
        #expect(kinds(sender.show(Self.item(elapsed: 20.4, at: 1020))) == ["update"])
    }

    @Test("a receiver that refuses update is sent replace, once in its place and from then on")
    func refusal() throws {
        let sender = Asked()
        _ = sender.show(Self.item(artwork: [1]))
        let update = try #require(sender.show(Self.item(elapsed: 50, artwork: [1])).first)
        let again = try #require(sender.refused(update))
        #expect(kinds([again]) == ["replace"])
        #expect(sender.refused(again) == nil)
        #expect(kinds(sender.show(Self.item(elapsed: 90, artwork: [1]))) == ["replace"])
    }

    @Test("replace: text that isn't Latin, reals, a date, the picture's bytes each time")
    func replaceBody() throws {
        let body = AirPlayCommandMessage.replace(Self.item(elapsed: 3, at: 800_000_000.5, artwork: [9, 8])).body
        let list = try PropertyList(parsing: body.encoded())
        #expect(list["type"]?.string == "updateMRNowPlayingInfo")
        let envelope = try #require(list["params"])
        #expect(envelope["type"]?.string == "npi-text")
        #expect(envelope["mergePolicy"]?.string == "replace")
        let keys = try #require(envelope["params"])
        func key(_ name: String) -> PropertyList? { keys["kMRMediaRemoteNowPlayingInfo" + name] }
        #expect(key("Title")?.string == "Ohne Titel")
        #expect(key("Artist")?.string == "Ляпис")
        #expect(key("Album")?.string == "מוזיקה")
        #expect(key("ElapsedTime") == .real(3))
        #expect(key("Duration") == .real(200))
        #expect(key("PlaybackRate") == .real(1))
        #expect(key("DefaultPlaybackRate") == .real(1))
        #expect(key("Timestamp") == .date(800_000_000.5))
        #expect(key("UniqueIdentifier") == .integer(1))
        #expect(key("ArtworkData")?.data == [9, 8])
        #expect(key("ArtworkMIMEType")?.string == "image/jpeg")
    }

    @Test("update carries the place alone, so that the picture stays")
    func updateBody() throws {
        let list = AirPlayCommandMessage.update(Self.item(elapsed: 3, .paused, artwork: [9])).body
        #expect(list["params"]?["mergePolicy"]?.string == "update")
        guard case .dictionary(let keys)? = list["params"]?["params"] else {
            Issue.record("no keys")
            return
        }
        let names = Set(keys.keys.map { $0.dropFirst(AirPlayNowPlaying.prefix.count) }.map(String.init))
        #expect(names == ["ElapsedTime", "PlaybackRate", "DefaultPlaybackRate", "Timestamp", "Duration"])
        #expect(keys["kMRMediaRemoteNowPlayingInfoPlaybackRate"] == .real(0))
    }

    @Test("the other bodies: numbers of their own, lists in lists, protobufs in data")
    func otherBodies() throws {
        let commands = AirPlayCommandMessage.supportedCommands([.play, .nextTrack]).body
        let entries = try #require(commands["params"]?["mrSupportedCommandsFromSender"]?.array)
        let inner = try entries.map { try PropertyList(parsing: try #require($0.data)) }
        #expect(inner.map { $0["kCommandInfoCommandKey"]?.integer } == [0, 4])
        #expect(inner.allSatisfy { $0["kCommandInfoEnabledKey"]?.bool == true })
        #expect(AirPlayCommandMessage.playbackState(.paused).body["params"]?["mrPlaybackState"]?.integer == 2)
        let sender = Asked()
        let first = sender.show(Self.item())
        let device = first[0].body
        #expect(device["type"] == nil)
        let message = try #require(try MRPPayload.decode(device.encoded()).first)
        #expect(message.kind == .deviceInfo)
        #expect(message.deviceInfo.name == "router")
        #expect(message.deviceInfo.routingContextID == "S")
        let client = try #require(first[4].body["params"]?["mrNowPlayingClient"]?.data)
        #expect(try MRPNowPlayingClient(serializedBytes: client).processIdentifier == 42)
    }
}
