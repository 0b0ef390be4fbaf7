import Foundation
import Glibc
import Logging
import RouteBackend
import RouteModel
import RouterAPI
import RouterCore
import RouterTestKit
import Synchronization
import Testing

@testable import RouterDaemon

@Suite("A daemon's life")
struct ServiceLifeTests {
    @Test("its socket is its owner's alone, and another daemon is told so")
    func socket() async throws {
        let house = try ServiceHouse()
        let path = house.options.socketPath ?? ""
        try await house.live { reached in
            var facts = Glibc.stat()
            #expect(stat(path, &facts) == 0)
            #expect(facts.st_mode & 0o777 == 0o600)
            let error = #expect(throws: RouterError.self) { try ServiceSocket.unix(path: path) }
            #expect(error?.code == .configuration && error?.message.contains("running already") == true)
            let rooms = try await reached.client.rooms(settle: false)
            #expect(rooms.count == 3, "the first is not disturbed")
        }
        #expect(access(path, F_OK) != 0, "nothing is left behind")
    }

    @Test("R4 what schedules and the like tell is in the log too: nobody may be reading events then")
    func told() async throws {
        var house = try ServiceHouse()
        house.parts = { _, tell in
            ServiceParts(jobs: [
                {
                    await tell(Notice(.warning, "the schedule was missed"))
                    await tell(Notice(.error, "the scene did not begin"))
                    await tell(Notice(.info, "somebody said this"))
                }
            ])
        }
        let logs = house.logs
        let engine = house.engine
        try await house.live { _ in
            func told() -> [String] {
                logs.last(100, glob: nil, level: "notice").map { "\($0.level) \($0.text)" }.filter {
                    !$0.contains("listening")
                }
            }
            let wanted = [
                "warning the schedule was missed", "warning the scene did not begin", "notice somebody said this",
            ]
            #expect(await eventually { told().starts(with: wanted) }, "\(told())")
            await engine.report(Notice(.error, "a room is lost"))
            #expect(await eventually { told().last == "error a room is lost" }, "\(told())")
        }
    }

    @Test("a socket that a killed daemon has left is replaced; a file that is none is not touched")
    func staleSocket() throws {
        let folder = "/tmp/rs-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/deep/r.sock"
        let first = try ServiceSocket.unix(path: path)
        var facts = Glibc.stat()
        #expect(stat(folder + "/deep", &facts) == 0 && facts.st_mode & 0o777 == 0o700)
        // As kill -9 does: the lock goes, the file stays.
        let copy = folder + "/deep/kept"
        #expect(link(path, copy) == 0)
        first.remove()
        #expect(rename(copy, path) == 0)
        // As systemd does: it listens for a daemon to come, and has no lock.
        let taken = #expect(throws: RouterError.self) { try ServiceSocket.unix(path: path) }
        #expect(taken?.message.contains("something listens") == true)
        close(first.descriptor)
        let second = try ServiceSocket.unix(path: path)
        second.remove()
        close(second.descriptor)
        try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: RouterError.self) { try ServiceSocket.unix(path: path) }
        #expect(error?.message.contains("no socket") == true)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
        for wrong in ["relative.sock", "/" + String(repeating: "x", count: 200)] {
            #expect(throws: RouterError.self) { try ServiceSocket.unix(path: wrong) }
        }
    }

    @Test("a port that is taken is told, and an address that is none of this machine")
    func ports() throws {
        let first = try ServiceSocket.tcp(host: "127.0.0.1", port: 0)
        defer { close(first.descriptor) }
        guard case .http(_, let port) = first.place else { return }
        #expect(port > 0)
        for (host, port) in [("127.0.0.1", port), ("192.0.2.1", 0), ("no.such.host.invalid", 0)] {
            let error = #expect(throws: RouterError.self) { try ServiceSocket.tcp(host: host, port: port) }
            #expect(error?.code == .configuration && error?.hint != nil)
        }
    }

    @Test("the usual port may be another user's: the socket does without it, but for who has asked for it")
    func portTaken() throws {
        let first = try ServiceSocket.tcp(host: "127.0.0.1", port: 0)
        defer { close(first.descriptor) }
        let folder = "/tmp/rs-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var options = ServiceOptions.usual(environment: ["XDG_RUNTIME_DIR": folder])
        #expect(options.http == .http(host: "127.0.0.1", port: RouterPlace.defaultPort))
        #expect(options.socketPath == folder + "/router/router.sock")
        #expect(options.httpMayFail)
        options.http = first.place
        #expect(!options.httpMayFail)
        #expect(throws: RouterError.self) { try RouterService.open(options) }
        #expect(access(folder + "/router/router.sock", F_OK) != 0)
        options.httpMayFail = true
        var said: [Notice] = []
        let sockets = try RouterService.open(options) { said.append($0) }
        #expect(sockets.map(\.place) == [.socket(path: folder + "/router/router.sock")])
        #expect(said.count == 1 && said[0].message.contains("by its socket only"))
        for socket in sockets {
            socket.remove()
            close(socket.descriptor)
        }
    }

    @Test("K1 at its end it leaves alone what goes on without it, and stops what does not")
    func ending() async throws {
        let store = InMemoryStore()
        let house = try ServiceHouse(store: store)
        let (cast, speaker) = try await house.live { reached in
            let cast = try await reached.client.play(PlayRequest(what: ["http://h/one"], rooms: ["Den"]))
            let speaker = try await reached.client.play(PlayRequest(what: ["/one"], rooms: ["Kitchen"]))
            return (cast.id, speaker.id)
        }
        #expect(house.cast.session(named: "Den")?.asked.last == .end(.leave))
        #expect(house.airplay.session(named: "Kitchen")?.asked.last == .end(.stop))
        let left = await store.sessionsToRejoin().map(\.session)
        #expect(left.contains(cast) && !left.contains(speaker))
        let next = try ServiceHouse(store: store) { options, _ in options.rejoins = true }
        next.cast.keeps(
            .init(), on: next.cast.endpoint(named: "Den", host: "10.0.0.3"))
        try await next.live { reached in
            #expect(await eventually { await reached.client.sessions().map(\.id) == [cast] })
        }
    }

    private final class Seen: Sendable {
        private let texts = Mutex<[String]>([])
        func add(_ text: String) { texts.withLock { $0.append(text) } }
        var all: [String] { texts.withLock { $0 } }
    }

    @Test("readers of events come back by themselves to the next daemon")
    func restart() async throws {
        let first = try ServiceHouse()
        let folder = first.folder
        let seen = Seen()
        let client = RouterClient(first.socket)
        let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in begun { break }
                for await event in await client.events() {
                    switch event.body {
                    case .snapshot: seen.add("snapshot")
                    case .notice(let notice): seen.add(notice.message)
                    default: break
                    }
                    if seen.all.count(where: { $0 == "snapshot" }) == 2 { return }
                }
            }
            try await first.live { _ in
                continuation.yield(())
                #expect(await eventually { seen.all == ["snapshot"] })
            }
            let second = try ServiceHouse { options, _ in
                options.socketPath = folder.appendingPathComponent("r.sock").path
            }
            try await second.live { _ in
                #expect(await eventually { seen.all.count { $0 == "snapshot" } == 2 })
            }
            try? FileManager.default.removeItem(at: folder)
        }
        #expect(
            seen.all == ["snapshot", "the daemon has gone", "reconnected to the daemon", "snapshot"])
    }

    @Test("a whole daemon as the command runs it: ready, told to systemd, ended by cancellation")
    func whole() async throws {
        let folder = URL(fileURLWithPath: "/tmp/rs-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let notify = folder.appendingPathComponent("n.sock").path
        let told = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(told) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: notify.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(told, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(bound == 0)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        var configuration = RouterConfiguration()
        configuration.mediaPort = 0
        let setup = RouterSetup(
            configuration: configuration, deviceURIs: ["raop://127.0.0.1:1?name=Kitchen"], logger: logger,
            discovers: false)
        let (ready, continuation) = AsyncStream.makeStream(of: [RouterPlace].self)
        var options = ServiceOptions(
            socketPath: folder.appendingPathComponent("r.sock").path, environment: ["NOTIFY_SOCKET": notify],
            ready: { continuation.yield($0) })
        options.handlesSignals = false
        try await withThrowingTaskGroup(of: Void.self) { [options] group in
            group.addTask { try await RouterService.run(setup, options) }
            for await places in ready {
                let client = RouterClient(try #require(places.first))
                #expect(try await client.rooms(settle: true).map(\.name) == ["Kitchen"])
                break
            }
            let error = await #expect(throws: RouterError.self) { try await RouterService.run(setup, options) }
            #expect(error?.message.contains("running already") == true)
            group.cancelAll()
            while let _ = try await group.next() {}
        }
        var texts: [String] = []
        var chunk = [UInt8](repeating: 0, count: 512)
        while true {
            let count = recv(told, &chunk, chunk.count, Int32(MSG_DONTWAIT))
            if count <= 0 { break }
            texts.append(String(decoding: chunk[..<count], as: UTF8.self))
        }
        #expect(texts == ["READY=1\nSTATUS=listening", "STOPPING=1"])
        #expect(access(options.socketPath ?? "", F_OK) != 0)
    }

    @Test("sockets that systemd has opened are taken as they are, and are not removed at the end")
    func inherited() throws {
        let folder = "/tmp/rs-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let unix = try ServiceSocket.unix(path: folder + "/r.sock")
        let tcp = try ServiceSocket.tcp(host: "127.0.0.1", port: 0)
        let environment = ["LISTEN_FDS": "3", "LISTEN_PID": String(getpid())]
        // systemd holds no lock of ours; here the first one does.
        // Three in a row that nobody has: tests beside this one have hundreds of sockets.
        let first = getdtablesize() - 8
        try #require((first..<first + 3).allSatisfy { fcntl($0, F_GETFD) == -1 })
        #expect(dup2(unix.descriptor, first) == first && dup2(tcp.descriptor, first + 1) == first + 1)
        #expect(dup2(0, first + 2) == first + 2)
        defer { for descriptor in first..<first + 3 { close(descriptor) } }
        let error = #expect(throws: RouterError.self) { try ServiceSocket.inherited(environment, from: first) }
        #expect(error?.message.contains("running already") == true)
        let kept = folder + "/kept"
        #expect(link(folder + "/r.sock", kept) == 0)
        unix.remove()
        #expect(rename(kept, folder + "/r.sock") == 0)
        let found = try ServiceSocket.inherited(environment, from: first)
        #expect(found.map(\.place) == [unix.place, tcp.place])
        for socket in found { socket.remove() }
        #expect(access(folder + "/r.sock", F_OK) == 0)
        close(unix.descriptor)
        close(tcp.descriptor)
    }

    @Test("sockets that systemd has not opened for this process are left alone")
    func notInherited() throws {
        for environment in [
            [:], ["LISTEN_FDS": "1"], ["LISTEN_FDS": "1", "LISTEN_PID": "1"],
            ["LISTEN_FDS": "x", "LISTEN_PID": String(getpid())], ["LISTEN_FDS": "0", "LISTEN_PID": String(getpid())],
            ["LISTEN_FDS": "-3", "LISTEN_PID": String(getpid())],
            ["LISTEN_FDS": "999", "LISTEN_PID": String(getpid())],
        ] {
            let sockets = try ServiceSocket.inherited(environment)
            #expect(sockets.isEmpty)
        }
    }
}
