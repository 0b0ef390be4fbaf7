import Foundation

/// Which run of which process wrote something, so that a later one can tell whether the writer still lives.
struct ProcessIdentity: Sendable, Equatable {
    /// Changes with each start of the machine; process ids begin anew with it.
    var boot: String
    var process: Int32
    /// When the process began, in the kernel's ticks since boot: tells a process from a later one of the same id.
    var started: String

    static let current = ProcessIdentity(process: ProcessInfo.processInfo.processIdentifier)

    /// The process that has this id now; `started` is empty when there is none.
    init(process: Int32) {
        boot = Self.read("/proc/sys/kernel/random/boot_id").trimmingCharacters(in: .whitespacesAndNewlines)
        self.process = process
        // The second field is the name in brackets, which may hold spaces: the start is the 20th field after it.
        let fields = Self.read("/proc/\(process)/stat").split(separator: ")").last?.split(separator: " ") ?? []
        // One that was killed stays in the list until its parent has taken note: it writes nothing any more. The flag is
        // the kernel's PF_EXITING.
        let ends =
            fields.count > 6 && ["Z", "X"].contains(fields[0]) || (UInt(fields.dropFirst(6).first ?? "") ?? 0) & 4 != 0
        started = fields.count > 19 && !ends ? String(fields[19]) : ""
    }

    init?(text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, let process = Int32(parts[1]) else { return nil }
        boot = String(parts[0])
        self.process = process
        started = String(parts[2])
    }

    var text: String { "\(boot) \(process) \(started)" }

    var lives: Bool { !started.isEmpty && ProcessIdentity(process: process) == self }

    private static func read(_ path: String) -> String {
        guard let data = FileManager.default.contents(atPath: path) else { return "" }
        return String(decoding: data, as: UTF8.self)
    }
}
