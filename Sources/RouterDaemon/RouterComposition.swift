import AirPlayBackend
import AvahiDiscovery
import Foundation
import Logging
import Media
import Pacing
import RouteBackend
import RouteModel
import RouterCore
import RouterStore

/// The engine with all that it works by, put together the same way for a lone command and for the daemon.
struct RouterComposition: Sendable {
    let engine: RouterEngine
    let clock: any HostClock
    let media: MediaLibrary
    private let setup: RouterSetup
    private let remotes: AirPlayRemoteControl

    /// Throws `configuration`, and `internal` where the sending thread cannot be had.
    ///
    /// - Parameter stays: it is a daemon's, and shows what earlier ones have left.
    init(_ setup: RouterSetup, stays: Bool = false) throws {
        for notice in setup.configuration.notices { setup.say(notice) }
        let clock = SystemHostClock()
        let store = try Self.openStore(setup)
        let remotes = AirPlayRemoteControl(
            publishing: setup.discovers ? AvahiPublisher() : nil, clock: clock, logger: setup.logger)
        let context = BackendContext(
            clock: clock, pacer: try Self.pacer(setup.logger), logger: setup.logger, remotes: remotes,
            castIdentity: try setup.configuration.cast.policy(pins: StoredCastPins(store: store)), images: setup.images)
        let providers = BackendRegistry.rows.map { $0.make(context) }
        let stated = try Self.statedEndpoints(setup, providers: providers)
        var mediaConfiguration = MediaConfiguration(
            ffmpeg: setup.configuration.ffmpeg, ffprobe: setup.configuration.ffprobe,
            serverPort: setup.configuration.mediaPort)
        mediaConfiguration.sources = setup.configuration.sources
        let media = MediaLibrary(
            configuration: mediaConfiguration, clock: clock, logger: setup.logger, images: setup.imageCache)
        self.setup = setup
        self.clock = clock
        self.remotes = remotes
        self.media = media
        var configuration = EngineConfiguration(
            rooms: setup.configuration.rooms, stated: stated.map(\.endpoint),
            senderName: setup.configuration.senderName, password: Self.passwords(setup, stated))
        configuration.recallsSessions = stays
        engine = RouterEngine(
            providers: providers, browsing: setup.discovers ? AvahiBrowser() : nil, media: media,
            store: store, clock: clock, configuration: configuration)
    }

    /// Runs the engine for as long as `body` does, then ends its sessions and everything that was started.
    ///
    /// `body` may end sessions with `.leave` itself, for what goes on without this process.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable (any RouterControlling) async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask {
                await engine.run()
                return nil
            }
            group.addTask {
                await remotes.run()
                return nil
            }
            if let path = setup.configurationPath {
                group.addTask {
                    await watch(path)
                    return nil
                }
            }
            let result: Result<Value, any Error>
            do {
                result = .success(try await body(engine))
            } catch {
                result = .failure(error)
            }
            await engine.shutdown()
            await media.stop()
            group.cancelAll()
            return try result.get()
        }
    }

    /// Takes up changes of the configuration file.
    private func watch(_ path: String) async {
        let watch = ConfigurationWatch(path: path, mustExist: setup.configurationMustExist, clock: clock)
        await watch.run(known: setup.configuration) { old, new in
            await engine.reconfigure(rooms: new.rooms)
            await media.setSources(new.sources)
            for notice in new.notices where !old.notices.contains(notice) { await engine.report(notice) }
            let later = new.onlyAtStart(than: old)
            await engine.report(
                Notice(
                    .info, "the configuration file was read again",
                    hint: later.isEmpty
                        ? nil : "Start the router again for the change of \(later.joined(separator: ", "))"))
        } wrong: { error in
            await engine.report(Notice(.error, error.message, hint: error.hint))
        }
    }

    // MARK: Parts

    private static func pacer(_ logger: Logger) throws -> Pacer {
        do {
            return try Pacer { code in
                logger.warning(
                    "no real-time priority for the sending thread (\(String(cString: strerror(code)))): on a busy machine sound may stutter"
                )
            }
        } catch {
            throw RouterError(
                .internal, "the sending thread could not be started", hint: "Check the limit of open files (ulimit -n)",
                causes: [String(describing: error)])
        }
    }

    static func openStore(_ setup: RouterSetup) throws -> RouterStore {
        do {
            guard let path = setup.storePath else { return try RouterStore.inMemory() }
            let store = try RouterStore(path: path)
            if let notice = store.openingNotice { setup.say(notice) }
            return store
        } catch let error as RouterError {
            if setup.mustRemember { throw error }
            // Playing matters more than remembering: go on without, and say so.
            setup.say(
                Notice(.warning, "\(error.message); nothing of this run is remembered", hint: error.hint))
            return try RouterStore.inMemory()
        }
    }

    private static func statedEndpoints(
        _ setup: RouterSetup, providers: [any RouteProvider]
    ) throws -> [(endpoint: Endpoint, password: Secret?)] {
        let stated =
            setup.configuration.devices
            + setup.deviceURIs.map { RouterConfiguration.Device(uri: $0) }
        return try stated.map { device in
            let uri = try DeviceURI(device.uri)
            guard let provider = providers.first(where: { $0.uriSchemes.contains(uri.scheme) }) else {
                let known = providers.flatMap(\.uriSchemes).map { "\($0)://" }.joined(separator: ", ")
                throw RouterError(
                    .configuration, "“\(uri.scheme)” is no protocol of a receiver", hint: "Begin the URI with \(known)")
            }
            var endpoint = try provider.endpoint(from: uri)
            // As it was written too, so that it can be named by the same words, without a default port for one.
            if let key = StrongKey.stated(device.uri), !endpoint.strongKeys.contains(key) {
                endpoint.strongKeys.append(key)
            }
            return (endpoint, device.password)
        }
    }

    private static func passwords(
        _ setup: RouterSetup, _ stated: [(endpoint: Endpoint, password: Secret?)]
    ) -> @Sendable (Endpoint) async -> Secret? {
        let passwords = DevicePasswords(
            configured: Dictionary(
                stated.compactMap { entry in entry.password.map { (entry.endpoint.address, $0) } },
                uniquingKeysWith: { first, _ in first }), common: setup.password, ask: setup.askPassword)
        return { await passwords.password(of: $0) }
    }
}
