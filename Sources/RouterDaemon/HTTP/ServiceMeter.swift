import Foundation
import RouteModel
import RouterAPI

/// Counts what the daemon does, and tells it in Prometheus's text format (version 0.0.4).
actor ServiceMeter {
    private struct Key: Hashable {
        var operation: String
        var status: Int
    }

    private var requests: [Key: Int] = [:]
    private var seconds: [String: Double] = [:]

    /// - Parameter operation: nil where the request named none.
    func count(_ operation: OperationID?, status: Int, nanoseconds: Int64) {
        let name = operation?.rawValue ?? "none"
        requests[Key(operation: name, status: status), default: 0] += 1
        seconds[name, default: 0] += Double(nanoseconds) / 1e9
    }

    func text(
        sessions: [SessionSnapshot], routes: [Route], readers: Int, sequence: Int, pending: Int, started: Double
    ) -> String {
        var lines: [String] = []
        func family(_ name: String, _ type: String, _ help: String, _ samples: [(String, String)]) {
            lines.append("# HELP \(name) \(help)")
            lines.append("# TYPE \(name) \(type)")
            for (labels, value) in samples { lines.append("\(name)\(labels) \(value)") }
        }
        family(
            "router_http_requests_total", "counter", "Requests answered.",
            requests.sorted { ($0.key.operation, $0.key.status) < ($1.key.operation, $1.key.status) }.map {
                ("{operation=\"\($0.key.operation)\",status=\"\($0.key.status)\"}", String($0.value))
            })
        family(
            "router_http_request_seconds_total", "counter", "Seconds spent on requests.",
            seconds.sorted { $0.key < $1.key }.map { ("{operation=\"\($0.key)\"}", String($0.value)) })
        family(
            "router_sessions", "gauge", "Sessions by what their media does.",
            Dictionary(grouping: sessions.filter { $0.connection != .ended && $0.connection != .failed }, by: \.media)
                .map { ("{media=\"\($0.key.rawValue)\"}", String($0.value.count)) }.sorted { $0.0 < $1.0 })
        family(
            "router_routes", "gauge", "Devices by presence.",
            Dictionary(grouping: routes, by: \.presence).map {
                ("{presence=\"\($0.key.rawValue)\"}", String($0.value.count))
            }.sorted { $0.0 < $1.0 })
        // A route is in one session at a time; those that are over still say what they sent.
        var sent: [String: DeliveryStatistics] = [:]
        for session in sessions where session.connection != .ended && session.connection != .failed {
            for member in session.members {
                sent[member.route.rawValue] = member.delivery ?? sent[member.route.rawValue]
            }
        }
        let deliveries = sent.sorted { $0.key < $1.key }.map { ("{route=\"\($0.key)\"}", $0.value) }
        family(
            "router_packets_sent_total", "counter", "Packets sent to a route in its session.",
            deliveries.map { ($0.0, String($0.1.packetsSent)) })
        family(
            "router_packets_resent_total", "counter", "Packets sent again because the device asked.",
            deliveries.map { ($0.0, String($0.1.packetsResent)) })
        family(
            "router_packet_lateness_seconds", "gauge", "How late packets went out, the median.",
            deliveries.map { ($0.0, String(Double($0.1.latenessMedianMicroseconds) / 1e6)) })
        family("router_event_readers", "gauge", "Readers of events.", [("", String(readers))])
        family("router_event_sequence", "counter", "The number of the last event.", [("", String(sequence))])
        family("router_pending_work", "gauge", "Requests that go on after their answer.", [("", String(pending))])
        family("process_start_time_seconds", "gauge", "When the daemon was started.", [("", String(started))])
        let usage = Self.usage()
        family("process_cpu_seconds_total", "counter", "Time on processors.", [("", String(usage.cpu))])
        family("process_resident_memory_bytes", "gauge", "Memory in use.", [("", String(usage.memory))])
        return lines.joined(separator: "\n") + "\n"
    }

    private static func usage() -> (cpu: Double, memory: Int) {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        // The second figure is the resident pages (proc_pid_statm(5)).
        let statm = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = statm.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return (seconds(usage.ru_utime) + seconds(usage.ru_stime), pages * sysconf(Int32(_SC_PAGESIZE)))
    }
}
