import ArgumentParser
import Foundation
import Glibc
import RouteModel
import RouterAPI
import RouterTestKit
import Testing

@testable import RouterCommands

@Suite("router daemon stop, and a daemon that hangs")
struct DaemonEndTests {
    /// A process that sleeps, a child of this one, which looks at its end only when it is buried.
    private struct Sleeper {
        let pid: pid_t

        init() throws {
            var pid: pid_t = 0
            var words: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("600"), nil]
            var environment: [UnsafeMutablePointer<CChar>?] = [nil]
            defer { words.forEach { free($0) } }
            // What the test process does not heed, its children do.
            var attributes = posix_spawnattr_t()
            posix_spawnattr_init(&attributes)
            defer { posix_spawnattr_destroy(&attributes) }
            var signals = sigset_t()
            sigemptyset(&signals)
            posix_spawnattr_setsigmask(&attributes, &signals)
            sigaddset(&signals, SIGTERM)
            posix_spawnattr_setsigdefault(&attributes, &signals)
            posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
            try #require(posix_spawn(&pid, "/bin/sleep", nil, &attributes, &words, &environment) == 0)
            self.pid = pid
        }

        func bury() {
            kill(pid, SIGKILL)
            waitpid(pid, nil, 0)
        }
    }

    @Test("one that has ended is over, whether its parent has looked or not")
    func unreaped() async throws {
        let sleeper = try Sleeper()
        defer { sleeper.bury() }
        #expect(!DaemonEnd.hasEnded(sleeper.pid))
        try await DaemonEnd.end(sleeper.pid, within: .seconds(60))
        #expect(kill(sleeper.pid, 0) == 0, "the parent has looked: the test shows nothing")
        #expect(DaemonEnd.hasEnded(sleeper.pid))
        // And what is not there at all has ended too.
        try await DaemonEnd.end(sleeper.pid, within: .seconds(60))
    }

    @Test("one that does not end is told with its process, and what ends it")
    func stubborn() async throws {
        let sleeper = try Sleeper()
        defer { sleeper.bury() }
        let pid = sleeper.pid
        // A process that is held takes no SIGTERM.
        kill(pid, SIGSTOP)
        // Of two signals that wait, the one with the smaller number is taken first.
        let isHeld = await eventually {
            let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
            return stat?.split(separator: ")").last?.hasPrefix(" T") ?? false
        }
        #expect(isHeld)
        let error = await #expect(throws: RouterError.self) {
            try await DaemonEnd.end(pid, within: .milliseconds(100))
        }
        #expect(error?.code == .timeout && error?.message.contains("process \(pid)") == true)
        #expect(error?.hint?.contains("kill -9 \(pid)") == true)
    }

    /// A Unix socket at which somebody listens, who never says a word.
    private struct Mute {
        let path = "/tmp/router-mute-\(UUID().uuidString.prefix(8)).sock"
        private let descriptor: Int32

        init(backlog: Int32) throws {
            descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let done = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(done == 0 && listen(descriptor, backlog) == 0)
        }

        func remove() {
            close(descriptor)
            unlink(path)
        }
    }

    @Test("a daemon that takes a question and never answers holds no command up")
    func hangs() async throws {
        let mute = try Mute(backlog: 16)
        defer { mute.remove() }
        let client = RouterClient(.socket(path: mute.path))
        let options = try GlobalOptions.parse([])
        let error = await #expect(throws: RouterError.self) {
            try await RouterConnection.greet(client, options, within: .milliseconds(100))
        }
        #expect(error?.code == .daemonUnavailable && error?.message.contains(mute.path) == true)
        #expect(error?.hint?.contains("router daemon stop") == true)
    }

    @Test("who listens is known without a word of theirs, even where the line is full")
    func listener() throws {
        let mute = try Mute(backlog: 0)
        defer { mute.remove() }
        let first = UnixSocket.listener(at: mute.path)
        #expect(first?.process == getpid() && first?.isSystemd == false)
        for _ in 0..<3 { #expect(UnixSocket.listener(at: mute.path) != nil) }
    }

    @Test("a daemon of this machine is named by its socket; one elsewhere is not stopped from here")
    func host() throws {
        let here = try RouterCommand.parseAsRoot(["daemon", "stop", "--host", "/run/x.sock"]) as? DaemonStopCommand
        #expect(here?.options.host == "/run/x.sock")
        #expect(throws: (any Error).self) { try RouterCommand.parseAsRoot(["daemon", "stop", "--host", "nas"]) }
    }

    @Test("a configuration of one's own does not matter for what only a daemon can say")
    func configuration() throws {
        let folder = URL(fileURLWithPath: "/tmp/router-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("router"), withIntermediateDirectories: true)
        let mute = try Mute(backlog: 16)
        defer { mute.remove() }
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/router/router.sock", withDestinationPath: mute.path)
        let environment = ["XDG_RUNTIME_DIR": folder.path]
        let options = try GlobalOptions.parse(["--config", "/x"])
        guard case .here = RouterConnection.side(options, environment: environment) else {
            Issue.record("--config was passed over")
            return
        }
        if case .here = RouterConnection.side(options, passesConfiguration: true, environment: environment) {
            Issue.record("--config hid the daemon")
        }
        // What a daemon keeps in memory is changed by it alone.
        let named = try GlobalOptions.parse(["--config", "/x", "--device", "cast://10.0.0.1"])
        if case .here = SceneConnection.scheduleSide(named, environment: environment) {
            Issue.record("a receiver that is named hid the daemon that keeps the schedules")
        }
    }
}
