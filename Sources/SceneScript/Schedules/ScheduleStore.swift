import Foundation
import RouteModel

/// Where schedules outlive the process. Every function throws `RouterError` with code `storage`.
public protocol ScheduleStoring: Sendable {
    func load() async throws -> ScheduleRecord
    func save(_ record: ScheduleRecord) async throws
}

/// Schedules and how far they have been kept.
public struct ScheduleRecord: Codable, Sendable, Hashable {
    public var schedules: [SceneSchedule]
    /// The local day, counted from 1970-01-01, on which each last ran.
    public var lastDays: [String: Int]
    /// Seconds since 1970: all that was due until then was run or told of.
    public var seen: Double?

    public init(schedules: [SceneSchedule] = [], lastDays: [String: Int] = [:], seen: Double? = nil) {
        self.schedules = schedules
        self.lastDays = lastDays
        self.seen = seen
    }
}

/// Keeps schedules in one file, `schedules.json`, which only its owner can read; it is replaced as a whole, so that a
/// crash leaves the old one or the new one.
public actor FileScheduleStore: ScheduleStoring {
    private let folder: String
    private var path: String { folder + "/schedules.json" }
    /// More than all the schedules that can be kept, each with its scene.
    private static let mostBytes = 128 << 20

    public init(directory: String) { folder = directory }

    /// In the folder of the router's store, where the daemon and every command look for them.
    public init(besideStore path: String) { folder = URL(fileURLWithPath: path).deletingLastPathComponent().path }

    /// A file that cannot be read is put aside as `schedules.json.broken`, and that is thrown once.
    public func load() throws -> ScheduleRecord {
        let data: Data
        do throws(RegularFile.Failure) {
            data = try RegularFile.read(path, limit: Self.mostBytes)
        } catch {
            let why: String
            switch error {
            case .missing: return ScheduleRecord()
            case .notAFile: why = "it is no file"
            case .tooLarge: why = "it has more than \(Self.mostBytes >> 20) MiB"
            case .unreadable(let words): why = words
            }
            throw RouterError(
                .storage, "the schedules in \(path) cannot be read: \(why)",
                hint: "Check the file and its permissions; nothing is written over it until then")
        }
        do {
            return try JSONDecoder().decode(ScheduleRecord.self, from: data)
        } catch {
            _ = rename(path, path + ".broken")
            throw RouterError(
                .storage, "the schedules in \(path) are damaged; the file is \(path).broken now",
                hint: "Add them again with “router schedule add”, or repair the file and move it back")
        }
    }

    public func save(_ record: ScheduleRecord) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw Self.failure("the folder \(folder) cannot be made", error)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let data: Data
        do { data = try encoder.encode(record) } catch { throw Self.failure("schedules cannot be written", error) }
        let new = path + ".new"
        let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure("\(new) cannot be written", nil) }
        var written = 0
        while written < data.count {
            let count = data.withUnsafeBytes {
                write(descriptor, $0.baseAddress?.advanced(by: written), data.count - written)
            }
            if count > 0 {
                written += count
            } else if errno != EINTR {
                break
            }
        }
        let isComplete = written == data.count && fsync(descriptor) == 0
        let problem = errno
        close(descriptor)
        guard isComplete, rename(new, path) == 0 else {
            let why = isComplete ? errno : problem
            unlink(new)
            errno = why
            throw Self.failure("\(path) cannot be written", nil)
        }
    }

    private static func failure(_ message: String, _ error: (any Error)?) -> RouterError {
        RouterError(
            .storage, message, hint: "Check the folder's permissions and the space on the disk",
            causes: [error.map { String(describing: $0) } ?? String(cString: strerror(errno))])
    }
}
