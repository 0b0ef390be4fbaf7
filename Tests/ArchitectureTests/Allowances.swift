// The exceptions, each with its reason. To add one: a line with the file (or a folder, ending in "/") and why.

enum Allowances {
    struct Tasks {
        var path: String
        var count: Int
        var why: String
    }

    /// Unstructured tasks (`Task { … }`, `Task.detached`): the count of each file, exactly, so that none creeps in.
    static let tasks: [Tasks] = [
        Tasks(
            path: "Sources/CastV2/Session/CastSession.swift", count: 2,
            why: "the reader of the connection and the one timer: both cancelled and awaited when the session ends"),
        Tasks(
            path: "Sources/CastBackend/CastRouteSession.swift", count: 1,
            why: "carries the wire's states over for as long as they come; awaited by end"),
        Tasks(
            path: "Sources/CastBackend/Streaming/CastStreamingSession.swift", count: 2,
            why: "carries the device's states and the stream's reports: both awaited by end"),
        Tasks(
            path: "Sources/CastBackend/Streaming/CastStreamingSession+Flow.swift", count: 1,
            why: "the pump, cancelled and awaited on flush and end"),
        Tasks(
            path: "Sources/RouteBackend/FeedOpening.swift", count: 1,
            why: "a load's first packets: awaited by the load, cancelled and awaited by its session's end"),
        Tasks(
            path: "Sources/AirPlayBackend/Session/AirPlayRouteSession.swift", count: 1,
            why: "keep-alive and events of the session; cancelled and awaited by end"),
        Tasks(
            path: "Sources/AirPlayBackend/Session/AirPlayRouteSession+Streaming.swift", count: 1,
            why: "the pump, cancelled and awaited on flush and end"),
        Tasks(
            path: "Sources/AirPlay/AirPlay2/Session/AirPlay2Client.swift", count: 1,
            why: "opens and serves the event channel; cancelled and awaited by end"),
        Tasks(
            path: "Sources/Media/MediaLibrary.swift", count: 2,
            why: "one probe shared by all who ask, one decoder for each feed: cancelled and awaited by stop"),
        Tasks(
            path: "Sources/Media/Subtitles/SubtitleStore.swift", count: 1,
            why: "one reading of a stream shared by all who ask: cancelled by withdraw, cancelled and awaited by stop"),
        Tasks(
            path: "Sources/Media/Images/ImageCache.swift", count: 1,
            why: "one fetch shared by all who ask: cancelled and awaited by stop"),
        Tasks(
            path: "Sources/Media/Server/MediaServer.swift", count: 2,
            why: "listening, shared by all who ask for the port, and the server's run: awaited by stop"),
        Tasks(
            path: "Sources/RouterAPI/Client/RouterClient+Events.swift", count: 1,
            why: "the reader of a daemon's events; cancelled with the stream that it feeds"),
        Tasks(
            path: "Sources/RouterDaemon/HTTP/HTTPListener.swift", count: 2,
            why: "serves connections, ends with its socket and is awaited by stop; hangs up on one that came too late"),
        Tasks(
            path: "Sources/SimulatedReceivers/Playback/ClientListener.swift", count: 1,
            why: "hangs up on a client that came too late to be served"),
        Tasks(
            path: "Sources/RouterCommands/Simulate/SimulatedHouse.swift", count: 1,
            why: "merges the receivers' events; cancelled with the stream that it feeds"),
        Tasks(
            path: "Sources/SimulatedReceivers/AirPlay/SimulatedRAOPReceiver.swift", count: 2,
            why: "the listener and the player of a connection: cancelled and awaited by stop and TEARDOWN"),
        Tasks(
            path: "Sources/SimulatedReceivers/AirPlay/Timing/PTPSlave.swift", count: 2,
            why: "the reader and the questions of a slave: cancelled and awaited by stop"),
        Tasks(
            path: "Sources/SimulatedReceivers/AirPlay/AirPlay2/SimulatedAirPlay2Receiver.swift", count: 1,
            why: "the listener; cancelled and awaited by stop"),
        Tasks(
            path: "Sources/SimulatedReceivers/AirPlay/AirPlay2/SimulatedAirPlay2Receiver+Session.swift", count: 1,
            why: "what a session and its buffered stream run: all cancelled and awaited by their ends"),
        Tasks(
            path: "Sources/SimulatedReceivers/Cast/SimulatedCastReceiver.swift", count: 1,
            why: "the listener; cancelled and awaited by stop"),
        Tasks(
            path: "Sources/SimulatedReceivers/Playback/SimulatedPlayer.swift", count: 4,
            why:
                "a load is answered before it is done, as on a device: each is cancelled and awaited by the next or stop"
        ),
    ]

    /// Files and folders that may hold a lock.
    static let locks: [(path: String, why: String)] = [
        ("Sources/RouteBackend/LatestValue.swift", "written from callbacks and event loops that cannot wait"),
        ("Sources/Pacing/PacketRing.swift", "the real-time thread and the encoder share it"),
        ("Sources/RouterTestKit/", "manual clocks and scripted fakes are called from synchronous code"),
    ]

    /// Files that may be longer than the limit.
    static let long: [(path: String, why: String)] = [
        (".pb.swift", "written by protoc")
    ]

    /// Modules that may write to standard output.
    static let printing: Set<String> = ["RouterCommands", "router"]
}
