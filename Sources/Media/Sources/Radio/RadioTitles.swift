import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import RouteBackend
import RouteModel

/// Listens to what an internet radio says that it plays, on a connection of its own: whoever plays the sound, ffmpeg or a
/// receiver, does not hand that on.
struct RadioTitles: Sendable {
    private static let redirects = 5
    /// Nanoseconds between looks whether anybody wants to know still.
    private static let lookNanoseconds: Int64 = 5_000_000_000
    /// Nanoseconds before a connection that broke is made again, doubled each time up to the second.
    private static let firstPause: Int64 = 5_000_000_000
    private static let longestPause: Int64 = 60_000_000_000
    /// Connections in a row that brought nothing, before it is given up.
    private static let maximumFailures = 5

    let clock: any HostClock
    let fetcher: HTTPFetcher

    /// Returns when `heard` answers false, when cancelled, and for what is no radio that says its titles.
    func listen(to url: String, _ heard: @escaping @Sendable (MediaMetadata?) async -> Bool) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await keepListening(to: url, heard) }
            group.addTask {
                repeat {
                    guard (try? await clock.sleep(nanoseconds: Self.lookNanoseconds)) != nil else { return }
                } while await heard(nil)
            }
            await group.next()
            group.cancelAll()
        }
    }

    private enum Ending {
        /// It says nothing, or nobody wants to know.
        case over
        case broke(heardSomething: Bool)
    }

    private func keepListening(to url: String, _ heard: @Sendable (MediaMetadata?) async -> Bool) async {
        var failures = 0
        var pause = Self.firstPause
        while true {
            switch await listenOnce(to: url, heard) {
            case .over: return
            case .broke(true): (failures, pause) = (0, Self.firstPause)
            case .broke(false): failures += 1
            }
            guard failures < Self.maximumFailures, (try? await clock.sleep(nanoseconds: pause)) != nil else { return }
            pause = min(2 * pause, Self.longestPause)
        }
    }

    private func listenOnce(to url: String, _ heard: @Sendable (MediaMetadata?) async -> Bool) async -> Ending {
        guard var target = try? HTTPFetcher.Target(url) else { return .over }
        for _ in 0...Self.redirects {
            guard let connection = try? await connect(target) else { return .broke(heardSomething: false) }
            let answer = try? await connection.executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(string: Self.request(target)))
                return try await Self.read(inbound, heard)
            }
            switch answer ?? .ended(.broke(heardSomething: false)) {
            case .ended(let ending): return ending
            case .leads(let location):
                guard let next = try? HTTPFetcher.Target(location, from: target), next.isSecure || !target.isSecure
                else { return .over }
                target = next
            }
        }
        return .over
    }

    private enum Answer {
        case ended(Ending)
        case leads(to: String)
    }

    private static func request(_ target: HTTPFetcher.Target) -> String {
        "GET \(target.path) HTTP/1.0\r\nHost: \(target.authority)\r\nUser-Agent: router\r\nAccept: */*\r\n"
            + "Icy-MetaData: 1\r\nConnection: close\r\n\r\n"
    }

    private static func read(
        _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>, _ heard: @Sendable (MediaMetadata?) async -> Bool
    ) async throws -> Answer {
        var decoder = ICYDecoder()
        var station: String?
        var last: MediaMetadata?
        for try await buffer in inbound {
            for event in try decoder.take(Array(buffer.readableBytesView)) {
                switch event {
                case .head(let head):
                    if (301...308).contains(head.status), let location = head.fields["location"] {
                        return .leads(to: location)
                    }
                    guard head.status == 200, head.interval != nil else { return .ended(.over) }
                    station = head.stationName
                case .words(let words):
                    guard words.title != nil else { continue }
                    let metadata = words.metadata(of: station)
                    guard metadata != last else { continue }
                    last = metadata
                    guard await heard(metadata) else { return .ended(.over) }
                }
            }
        }
        return .ended(.broke(heardSomething: last != nil))
    }

    private func connect(_ target: HTTPFetcher.Target) async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        let security = try fetcher.security(for: target)
        return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(10))
            .connect(host: target.host, port: target.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let security {
                        try channel.pipeline.syncOperations.addHandler(
                            NIOSSLClientHandler(context: security, serverHostname: target.serverName))
                    }
                    return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
    }
}

extension MediaLibrary {
    public func titles(of source: MediaSource, _ heard: @escaping @Sendable (MediaMetadata?) async -> Bool) async {
        guard case .url(let url) = source, !stopped, let facts = try? await facts(source), facts.live,
            facts.contentType != ContentType.hls
        else { return }
        await RadioTitles(clock: clock, fetcher: HTTPFetcher(clock: clock)).listen(to: url, heard)
    }
}
