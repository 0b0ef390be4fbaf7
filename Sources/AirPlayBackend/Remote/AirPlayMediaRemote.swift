import AirPlay
import Logging
import RouteBackend
import RouteModel

/// What goes on beside the sound with an Apple TV class device: a connection of its own for remote control, and on it
/// the data stream of MRP (`Protocols/mrp`, “Where it runs”).
///
/// A device that refuses any of it plays all the same.
struct AirPlayMediaRemote: Sendable {
    /// What `run` uses, and ends.
    struct Opened: Sendable {
        var client: AirPlay2Client
        var stream: ByteConnection
    }

    /// How often the connection, and the stream, are told that we are there.
    private static let feedbackNanoseconds: Int64 = 2_000_000_000
    private static let streamNanoseconds: Int64 = 30_000_000_000

    let session: MRPSession
    /// Whether the device is told over the stream what plays: only where it does not draw what `/command` says.
    let shows: Bool
    private let open: @Sendable () async throws -> Opened
    private let clock: any HostClock
    private let logger: Logger

    init(
        device: MRPDeviceInfo, shows: Bool, clock: any HostClock, logger: Logger,
        open: @escaping @Sendable () async throws -> Opened
    ) {
        session = MRPSession(device: device) { try await clock.sleep(nanoseconds: $0.nanoseconds) }
        self.shows = shows
        self.open = open
        self.clock = clock
        self.logger = logger
    }

    /// Opens both and serves them until the device closes them or the task is cancelled.
    ///
    /// - Parameter heard: what comes on the event channel of this connection.
    func run(heard: @escaping @Sendable (AirPlayEventMessage) async -> Void) async {
        let opened: Opened
        do {
            opened = try await open()
        } catch {
            logger.debug("no remote control beside the sound", metadata: ["error": "\(error)"])
            return await session.close()
        }
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await command in opened.client.commands { await heard(AirPlayEventMessage(command)) }
            }
            group.addTask { await self.keepAlive(opened) }
            group.addTask { await self.keepStreamAlive() }
            await session.run(on: opened.stream)
            group.cancelAll()
        }
        await opened.client.end()
    }

    private func keepAlive(_ opened: Opened) async {
        while (try? await clock.sleep(nanoseconds: Self.feedbackNanoseconds)) != nil {
            do {
                _ = try await opened.client.feedback(timeout: .seconds(8))
            } catch .rtsp(.refused), .notValidNow {
                continue
            } catch {
                return opened.stream.abort()
            }
        }
    }

    private func keepStreamAlive() async {
        while (try? await clock.sleep(nanoseconds: Self.streamNanoseconds)) != nil { try? await session.keepAlive() }
    }
}

extension AirPlay2Opening {
    /// For a device that has such a stream and lets us in to it; nil for others.
    func mediaRemote(
        _ facts: AirPlay2Facts, _ way: AirPlay2Way, _ admission: AirPlay2Admission
    ) -> AirPlayMediaRemote? {
        guard facts.takesMediaRemote(admission) else { return nil }
        let opening = self
        return AirPlayMediaRemote(
            device: MRPDeviceInfo(ours: sender.identifier, name: options.senderName),
            shows: facts.features?.contains(.nowPlayingInfo) != true, clock: clock, logger: logger
        ) {
            try await opening.openMediaRemote(way, admission)
        }
    }

    private func openMediaRemote(
        _ way: AirPlay2Way, _ admission: AirPlay2Admission
    ) async throws -> AirPlayMediaRemote.Opened {
        let connection = try await RTSPConnection.connect(
            host: plan.host(of: way), port: endpoint.port, password: options.password?.revealed, logger: logger)
        return try await withTaskCancellationHandler {
            let client = try await AirPlay2Client.introduce(
                on: connection, options: clientOptions(way, remote: nil))
            do {
                try await letIn(client, by: admission)
                _ = try await client.setUp(
                    AirPlay2SessionSetup(
                        deviceID: sender.deviceID, sessionUUID: AirPlaySender.uuid(), timing: .none,
                        name: options.senderName))
                try await client.record()
                let seed = UInt64.random(in: .min ... .max)
                let answer = try await client.start([
                    .data(
                        AirPlay2DataStream(
                            channelID: AirPlaySender.uuid(), clientUUID: AirPlaySender.uuid(), seed: seed))
                ])
                guard let port = answer.stream(.data)?.dataPort else {
                    throw AirPlay2Error.incompleteAnswer(method: "SETUP", key: "dataPort")
                }
                return AirPlayMediaRemote.Opened(
                    client: client, stream: try await client.openData(port: port, seed: seed))
            } catch {
                await client.end()
                throw error
            }
        } onCancel: {
            connection.abort()
        }
    }
}
