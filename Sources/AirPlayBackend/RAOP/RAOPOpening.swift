import AirPlay
import Logging
import Pacing
import RouteBackend
import RouteModel

/// Makes a RAOP session.
struct RAOPOpening: Sendable {
    var endpoint: Endpoint
    var plan: RAOPPlan
    /// Whom RSA receivers' keys are wrapped for.
    var publicKey: RAOPPublicKey
    var options: OpenOptions
    var clock: any HostClock
    var pacer: Pacer
    var logger: Logger
    /// Where the device's buttons are to be heard.
    var remotes: AirPlayRemoteControl?

    /// Climbs to SETUP on a fresh connection. The connection is closed when it throws.
    func open(on connection: RTSPConnection) async throws -> AirPlayRouteSession {
        let buttons = await remotes?.open()
        do {
            return try await open(on: connection, buttons)
        } catch {
            buttons?.close()
            throw error
        }
    }

    private func open(on connection: RTSPConnection, _ buttons: DACPSession?) async throws -> AirPlayRouteSession {
        try await AirPlayPairing.verifyLegacy(on: connection, endpoint: endpoint, options: options)
        options.phase("announcing audio")
        let cipher = plan.encryption == .rsa ? RAOPAudioCipher.random() : nil
        guard let remote = DatagramAddress(socketAddress: connection.remoteSocketAddress) else {
            await connection.close()
            throw RouterError(.internal, "the address of \(endpoint.name) is of no known kind", scope: .route)
        }
        let client: RAOPClient
        do {
            client = try await RAOPClient.announce(
                on: connection,
                options: RAOPClient.Options(
                    codec: plan.codecDescription, cipher: cipher, publicKey: publicKey,
                    needsAuthSetup: plan.advertisement.needsAuthSetup, clientName: options.senderName,
                    remote: buttons?.address))
        } catch {
            throw AirPlayErrors.opening(error, endpoint: endpoint)
        }
        var datagrams: AirPlayDatagrams?
        do {
            let opened = try AirPlayDatagrams(remote: remote, pacer: pacer) { [clock] in clock.now() }
            datagrams = opened
            let session = try await session(on: client, opened, cipher: cipher, buttons)
            await session.begin()
            return session
        } catch let error as RAOPError {
            await datagrams?.close(nil)
            await client.end()
            throw AirPlayErrors.opening(error, endpoint: endpoint)
        } catch let error as RouterError {
            await datagrams?.close(nil)
            await client.end()
            throw error
        } catch {
            await datagrams?.close(nil)
            await client.end()
            throw AirPlayErrors.noSocket(error, endpoint: endpoint)
        }
    }

    private func session(
        on client: RAOPClient, _ datagrams: AirPlayDatagrams, cipher: RAOPAudioCipher?,
        _ buttons: DACPSession?
    ) async throws -> AirPlayRouteSession {
        let ports = try await client.setUp(controlPort: datagrams.control.port, timingPort: datagrams.timing.port)
        let volume = try await client.volume()
        let failures = AsyncStream.makeStream(of: Int32.self, bufferingPolicy: .bufferingNewest(1))
        let stream = try datagrams.start(audioPort: ports.server, controlPort: ports.control) {
            failures.continuation.yield($0)
        }
        var generator = SystemRandomNumberGenerator()
        let packetizer = RAOPPacketizer(
            ssrc: UInt32.random(in: .min ... .max, using: &generator),
            firstSequence: UInt16.random(in: .min ... .max, using: &generator),
            firstTimestamp: UInt32.random(in: .min ... .max, using: &generator),
            framesPerPacket: RAOPPlan.framesPerPacket, cipher: cipher)
        let wire = RAOPWire(client: client, endpoint: endpoint)
        let first = packetizer.next
        // Before anybody waits for the first sound: some devices take their time.
        let latency: Int
        do {
            latency = try await wire.prepare(
                PacketPoint(sequence: UInt32(first.sequence ?? 0), timestamp: first.timestamp ?? 0))
        } catch {
            await datagrams.close(stream)
            throw error.error
        }
        let lead = plan.leadFrames
        let streamPlan = plan.stream(audioLatency: latency)
        let lane = DatagramLane(
            datagrams: datagrams, stream: stream, packetizer: packetizer, plan: streamPlan,
            silence: RAOPSilence.payload(plan.codecDescription, frames: RAOPPlan.framesPerPacket)
        ) { clock, now, first, latency in
            clock.sync(at: now, first: first, lead: lead, audioLatency: latency).encoded()
        }
        let descriptor = RouteSessionDescriptor(
            endpoint: endpoint,
            delivery: .push(streamPlan.requirements),
            capabilities: endpoint.capabilities,
            volume: VolumeDescriptor(
                handling: .adjustable, curve: .airplay, readback: volume == nil ? .none : .polled))
        return AirPlayRouteSession(
            AirPlayRouteSession.Parts(
                wire: wire, lane: lane, plan: streamPlan,
                descriptor: descriptor, volume: volume.map(AirPlayRouteSession.volumeState),
                failures: failures.stream, evidence: datagrams.evidence, remote: buttons), hostClock: clock,
            logger: logger)
    }
}
