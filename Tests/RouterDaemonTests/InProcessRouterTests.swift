import Foundation
import Logging
import Media
import RouteBackend
import RouteModel
import RouterTestKit
import Synchronization
import Testing

@testable import RouterDaemon

@Suite("The router inside one command")
struct InProcessRouterTests {
    /// What was said to the person, in order.
    private final class Said: Sendable {
        private let notices = Mutex<[Notice]>([])
        func take(_ notice: Notice) { notices.withLock { $0.append(notice) } }
        var all: [Notice] { notices.withLock { $0 } }
    }

    private func setup(
        devices: [String] = [], configured: [RouterConfiguration.Device] = [], store: String? = nil, said: Said = Said()
    ) -> RouterSetup {
        var configuration = RouterConfiguration()
        configuration.devices = configured
        configuration.mediaPort = 0
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return RouterSetup(
            configuration: configuration, deviceURIs: devices, storePath: store, logger: logger,
            say: { said.take($0) }, discovers: false)
    }

    @Test("stated devices of both kinds are there at once, by the names they were given")
    func statedDevices() async throws {
        let routes = try await InProcessRouter.run(
            setup(
                devices: ["raop://127.0.0.1:1?name=Kitchen"],
                configured: [.init(uri: "cast://127.0.0.2:1?name=Lounge")])
        ) { try await $0.routes(settle: true) }
        #expect(routes.routes.map(\.name).sorted() == ["Kitchen", "Lounge"])
        #expect(routes.routes.flatMap(\.families).count == 2)
    }

    @Test(
        "a scheme of no backend, and a URI that is none, are told with an example",
        arguments: ["dlna://h", "kitchen", "raop://", "cast://h:0"])
    func badDevice(_ uri: String) async throws {
        let error = try await #require(throws: RouterError.self) {
            try await InProcessRouter.run(setup(devices: [uri])) { _ in }
        }
        #expect(error.code == .configuration)
        #expect(error.hint?.contains("raop://") == true, "\(error)")
    }

    @Test("A6 what is said of a source holds from the start, and from the moment that the file says otherwise")
    func sources() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/router-sources-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data("x".utf8).write(to: URL(fileURLWithPath: folder + "/film.mp4"))
        func write(_ shown: Bool) throws {
            let text = "version: 1\nsources: [{from: \(folder), external_playback: \(shown)}]\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/config.yaml"), options: .atomic)
        }
        try write(false)
        var setup = setup()
        setup.configuration = try RouterConfiguration.load(path: folder + "/config.yaml", mustExist: true)
        setup.configurationPath = folder + "/config.yaml"
        let composition = try RouterComposition(setup)
        try write(true)
        try await composition.run { _ in
            func shown() async -> Bool? {
                let expanded = try? await composition.media.expand(["film.mp4"], workingDirectory: folder)
                return expanded?.entries.first?.externalPlayback
            }
            #expect(await shown() == false)
            #expect(await eventually { await shown() == true })
        }
    }

    @Test("what the body throws comes out, after the engine was shut down")
    func bodyThrows() async throws {
        let error = try await #require(throws: RouterError.self) {
            try await InProcessRouter.run(setup()) { _ in throw RouterError(.unavailable, "so it is") }
        }
        #expect(error.code == .unavailable)
    }

    @Test("state that cannot be kept is said, and the router runs on without")
    func storeFails() async throws {
        let said = Said()
        // A file where a folder is needed.
        let rooms = try await InProcessRouter.run(
            setup(devices: ["raop://127.0.0.1:1"], store: "/dev/null/router.sqlite", said: said)
        ) { try await $0.rooms(settle: false) }
        #expect(rooms.count == 1)
        let notice = try #require(said.all.first)
        #expect(notice.severity == .warning && notice.hint != nil)
        #expect(notice.message.contains("state") && notice.message.contains("remembered"), "\(notice.message)")
    }

    @Test("a damaged state file is kept aside, and that is said")
    func storeDamaged() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("router-state-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("router.sqlite").path
        try Data("this is no database, but long enough to look like one at first sight\n".utf8).write(
            to: URL(fileURLWithPath: path))
        let said = Said()
        try await InProcessRouter.run(setup(store: path, said: said)) { _ in }
        #expect(said.all.contains { $0.message.contains("damaged") })
    }

    @Test("what the configuration file is warned of is said")
    func configurationNotices() async throws {
        let said = Said()
        var setup = setup(said: said)
        setup.configuration.notices = [Notice(.warning, "look here")]
        try await InProcessRouter.run(setup) { _ in }
        #expect(said.all.map(\.message) == ["look here"])
    }

    // MARK: Passwords

    private func endpoint(port: Int, access: RouteAccess = .open) -> Endpoint {
        var endpoint = Endpoint(
            id: EndpointID(rawValue: "raop:\(port)"), protocol: .raop, name: "Kitchen", host: "h", port: port,
            strongKeys: [], origin: .stated, capabilities: RouteCapabilities())
        endpoint.access = access
        return endpoint
    }

    @Test("a device's own password comes before the common one, and a person is asked last")
    func passwordOrder() async {
        let asked = Mutex<[String]>([])
        var passwords = DevicePasswords(
            configured: [endpoint(port: 1).address: Secret("own")], common: Secret("common"),
            ask: { device, announced in
                asked.withLock { $0.append("\(device) \(announced)") }
                return Secret("typed")
            })
        #expect(await passwords.password(of: endpoint(port: 1)) == Secret("own"))
        #expect(await passwords.password(of: endpoint(port: 2)) == Secret("common"))
        #expect(asked.withLock { $0 }.isEmpty)
        passwords.common = nil
        #expect(await passwords.password(of: endpoint(port: 1)) == Secret("own"))
        #expect(await passwords.password(of: endpoint(port: 2)) == Secret("typed"))
        #expect(await passwords.password(of: endpoint(port: 3, access: .password)) == Secret("typed"))
        #expect(asked.withLock { $0 } == ["Kitchen false", "Kitchen true"])
    }
}
