import AirPlay
import Foundation
import RouteModel

/// One thing that was looked at, and what to do about it.
public struct Finding: Codable, Sendable, Hashable {
    public enum Result: String, Codable, Sendable, Hashable { case ok, warning, failed, skipped }

    public var check: String
    public var result: Result
    /// One sentence for people.
    public var message: String
    /// What to do.
    public var cure: String?
    /// The error behind it, for programs.
    public var code: RouterError.Code?

    public init(
        _ check: String, _ result: Result, _ message: String, cure: String? = nil, code: RouterError.Code? = nil
    ) {
        self.check = check
        self.result = result
        self.message = message
        self.cure = cure
        self.code = code
    }

    /// What an error says, as a failure of this check.
    public init(_ check: String, _ error: RouterError) {
        let causes = error.causes.isEmpty ? "" : " (\(error.causes.joined(separator: "; ")))"
        self.init(check, .failed, error.message + causes, cure: error.hint, code: error.code)
    }
}

/// What this machine has of what a router needs. Nothing is sent anywhere.
public enum SystemCheck {
    public static func findings(_ setup: RouterSetup, path: String) -> [Finding] {
        programs(setup, path: path) + [store(setup), network(), mediaPort(setup.configuration.mediaPort), clockPorts()]
    }

    private static func programs(_ setup: RouterSetup, path: String) -> [Finding] {
        [setup.configuration.ffmpeg, setup.configuration.ffprobe].map { program in
            let places =
                program.contains("/") ? [program] : path.split(separator: ":").map { "\($0)/\(program)" }
            if let found = places.first(where: { access($0, X_OK) == 0 }) {
                return Finding("programs", .ok, "\(program) is \(found)")
            }
            return Finding(
                "programs", .failed, "\(program) is not installed",
                cure: "Run “apt install ffmpeg”, or name it in the configuration", code: .dependencyMissing)
        }
    }

    private static func store(_ setup: RouterSetup) -> Finding {
        guard let path = setup.storePath else { return Finding("memory", .skipped, "nothing is kept on disk") }
        do {
            if let notice = try InProcessRouter.storeForChecking(path) {
                return Finding("memory", .warning, notice.message, cure: notice.hint)
            }
            return Finding("memory", .ok, "pairings, queues and volumes are kept in \(path)")
        } catch {
            return Finding("memory", RouterError(wrapping: error))
        }
    }

    /// Interfaces that multicast goes by.
    private static func network() -> Finding {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else {
            return Finding("network", .warning, "the interfaces cannot be read (\(String(cString: strerror(errno))))")
        }
        defer { freeifaddrs(first) }
        var names: Set<String> = []
        var next = first
        while let entry = next?.pointee {
            next = entry.ifa_next
            let flags = Int32(bitPattern: entry.ifa_flags)
            let wanted = Int32(IFF_UP) | Int32(IFF_MULTICAST)
            guard let address = entry.ifa_addr, flags & wanted == wanted, flags & Int32(IFF_LOOPBACK) == 0,
                [AF_INET, AF_INET6].contains(Int32(address.pointee.sa_family))
            else { continue }
            names.insert(String(cString: entry.ifa_name))
        }
        guard !names.isEmpty else {
            // No failure by itself: receivers on this very machine are there all the same.
            return Finding(
                "network", .warning, "no interface but loopback is up and takes multicast",
                cure: "Connect to the network that the receivers are in")
        }
        return Finding("network", .ok, "receivers are looked for by \(names.sorted().joined(separator: ", "))")
    }

    private static func mediaPort(_ port: Int) -> Finding {
        guard let error = bindingError(SOCK_STREAM.rawValue, port: port) else {
            return Finding("media server", .ok, "TCP port \(port), which Cast receivers fetch from, is free")
        }
        return Finding(
            "media server", .warning, "TCP port \(port), which Cast receivers fetch from, cannot be taken (\(error))",
            cure:
                "Another router that plays has it: that is no fault. Else set “port” under “media” in the configuration"
        )
    }

    /// The ports of PTP, which HomePods and newer receivers take the time from. Tried where the clock itself takes them
    /// first: a program that has them on all addresses is in its way, one on another address of this machine is not.
    private static func clockPorts() -> Finding {
        for port in [319, 320] {
            guard
                let error = bindingError(
                    SOCK_DGRAM.rawValue, port: port, host: PTPClockService.ownHostAddress)
            else { continue }
            let denied = error == String(cString: strerror(EACCES))
            return Finding(
                "clock", .warning,
                "UDP port \(port) cannot be taken (\(error)): receivers that need PTP, HomePods for one, stay silent",
                cure: denied
                    ? "Run “sudo setcap cap_net_bind_service=+ep \(executable)”; for a service with NoNewPrivileges, "
                        + "“sudo sysctl net.ipv4.ip_unprivileged_port_start=319”"
                    : "Stop the other PTP program (nqptp, ptp4l), or the router that has it")
        }
        return Finding("clock", .ok, "UDP ports 319 and 320 can be taken: this machine can give receivers the time")
    }

    private static var executable: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "router"
    }

    /// Why a port of this machine cannot be listened on; nil where it can.
    private static func bindingError(_ kind: UInt32, port: Int, host: String = "0.0.0.0") -> String? {
        let descriptor = socket(AF_INET, Int32(kind), 0)
        guard descriptor >= 0 else { return String(cString: strerror(errno)) }
        defer { close(descriptor) }
        var reuse: Int32 = 1
        // As the media server does it: what is left of an old connection is no hindrance.
        if kind == SOCK_STREAM.rawValue {
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(truncatingIfNeeded: port).bigEndian
        inet_pton(AF_INET, host, &address.sin_addr)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return result == 0 ? nil : String(cString: strerror(errno))
    }
}
