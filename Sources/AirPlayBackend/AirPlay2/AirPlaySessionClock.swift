import AirPlay
import Pacing
import RouteBackend

/// By which clock one AirPlay 2 session goes.
struct AirPlaySessionClock: Sendable {
    /// What SETUP says of it.
    var timing: AirPlay2SessionSetup.Timing
    /// Who takes part in PTP, as addresses: nil for NTP.
    var addresses: [String]?
    /// Ours, of PTP.
    var peer: AirPlay2TimingPeer?
    var anchor: Anchor
    var evidence: PlayingEvidence.Source
    /// To be called when the device has been told whom to follow: what it heard before that was nobody's.
    var greet: @Sendable () async -> Void
    /// Returns when the device is likely to know our time by the first sound of a run that begins soon, where it was
    /// greeted at this instant.
    var settled: @Sendable (_ greeted: Int64) async -> Void
    /// Lets go of it; to be called once.
    var release: @Sendable () async -> Void

    enum Anchor: Sendable {
        /// Host time is its time; with the frames that the device adds by itself.
        case ntp(latency: Int)
        case ptp(clockID: UInt64, time: @Sendable (Int64) -> UInt64)
    }

    /// Nanoseconds from the greeting to the start of a run: where the device is heard from, and where it is not.
    private static let shortestSettling: Int64 = 150_000_000
    private static let longestSettling: Int64 = 250_000_000

    /// The device asks us, at the port of `datagrams`.
    static func ntp(datagrams: AirPlayDatagrams, latency: Int) -> AirPlaySessionClock {
        AirPlaySessionClock(
            timing: .ntp(port: datagrams.timing.port), anchor: .ntp(latency: latency), evidence: datagrams.evidence,
            // It asks, and is answered within a millisecond.
            greet: {}, settled: { _ in }, release: {})
    }

    /// Our grandmaster tells the device. Throws where it cannot be had.
    ///
    /// - Parameters:
    ///   - peer: the device's address, numeric.
    ///   - identifier: our UUID.
    static func ptp(
        keeper: AirPlayClockKeeper, peer: String, identifier: String, hostClock: any HostClock
    ) async throws(PTPError) -> AirPlaySessionClock {
        let service = try await keeper.take()
        let ours: String
        do {
            ours = try await service.add(peer: peer)
        } catch {
            await keeper.release()
            throw error
        }
        let us = AirPlay2TimingPeer(id: identifier, addresses: [ours], clockID: service.clockID)
        let (first, last) = (Int(service.ports.event), Int(service.ports.general))
        return AirPlaySessionClock(
            timing: .ptp(us: us), addresses: [peer, ours], peer: us,
            anchor: .ptp(clockID: service.clockID) { service.time(atHost: $0) },
            evidence: PlayingEvidence.Source(
                clock: {
                    let status = await service.status(of: peer)
                    // A refusal is over as soon as something is heard.
                    let refused = status?.refusedAt.map { $0 > status?.lastHeardAt ?? .min } ?? false
                    return .grandmaster(heard: status?.lastHeardAt != nil, refused: refused)
                }, ports: min(first, last)...max(first, last)),
            greet: { await service.greet(peer: peer) },
            settled: { begun in
                // Two Announces and some Syncs make a clock to play by; some receivers show that they have them.
                while hostClock.now() - begun < Self.longestSettling {
                    let isHeard = await service.status(of: peer)?.lastHeardAt != nil
                    if isHeard, hostClock.now() - begun >= Self.shortestSettling { return }
                    do { try await hostClock.sleep(nanoseconds: 20_000_000) } catch { return }
                }
            },
            release: {
                await service.remove(peer: peer)
                await keeper.release()
            })
    }

    /// What tells the receiver of a realtime stream which frame is heard when.
    func sync(lead: Int) -> DatagramLane.SyncMaker {
        switch anchor {
        case .ntp:
            return { clock, now, first, latency in
                clock.sync(at: now, first: first, lead: lead, audioLatency: latency).encoded()
            }
        case .ptp(let clockID, let time):
            return { clock, now, first, _ in
                clock.ptpSync(at: now, first: first, lead: lead, clockID: clockID, time: time).encoded()
            }
        }
    }
}
