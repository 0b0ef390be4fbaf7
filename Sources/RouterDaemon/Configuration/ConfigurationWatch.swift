import Foundation
import Glibc
import RouteBackend
import RouteModel

/// Watches the configuration file while a router runs, and tells what it says whenever that changes.
///
/// It looks every two seconds at what the file system says of the file, which costs next to nothing, and holds where
/// an editor puts a new file in the old one's place, on network file systems, and for a folder that comes later. A file
/// is read once it has stayed the same for as long, since one that is just being written is wrong for a moment.
public struct ConfigurationWatch: Sendable {
    let path: String
    let mustExist: Bool
    let clock: any HostClock

    static let periodNanoseconds: Int64 = 2_000_000_000

    /// - Parameter mustExist: as for `RouterConfiguration.load`.
    public init(path: String, mustExist: Bool, clock: any HostClock) {
        self.path = path
        self.mustExist = mustExist
        self.clock = clock
    }

    /// Runs until cancelled.
    ///
    /// - Parameters:
    ///   - known: what the file said when the router began.
    ///   - changed: told what it says now, in place of what was told before.
    ///   - wrong: told why it cannot be used, once for each time that it was written; what was told before holds on.
    public func run(
        known: RouterConfiguration, changed: (_ old: RouterConfiguration, _ new: RouterConfiguration) async -> Void,
        wrong: (RouterError) async -> Void
    ) async {
        var known = known
        var seen: Stamp?
        var taken: Stamp?
        while !Task.isCancelled {
            let stamp = Stamp(path)
            if stamp == seen, stamp != taken {
                taken = stamp
                do {
                    let configuration = try RouterConfiguration.load(path: path, mustExist: mustExist)
                    if configuration != known {
                        await changed(known, configuration)
                        known = configuration
                    }
                } catch {
                    var error = RouterError(wrapping: error)
                    error.message += "; what it said before holds on"
                    await wrong(error)
                }
            }
            seen = stamp
            guard (try? await clock.sleep(nanoseconds: Self.periodNanoseconds)) != nil else { return }
        }
    }

    /// What the file system says of a file that is written to or replaced.
    private struct Stamp: Equatable {
        var exists: Bool
        var device: UInt64 = 0
        var file: UInt64 = 0
        var size: Int64 = 0
        var written: [Int] = []

        init(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else {
                exists = false
                return
            }
            exists = true
            device = UInt64(status.st_dev)
            file = UInt64(status.st_ino)
            size = Int64(status.st_size)
            written = [
                status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
            ]
        }
    }
}

extension RouterConfiguration {
    /// What of a change a running router cannot take up, by the names of the file.
    func onlyAtStart(than old: RouterConfiguration) -> [String] {
        var result: [String] = []
        if senderName != old.senderName { result.append("name") }
        if firstRunHint != old.firstRunHint { result.append("hint") }
        if mediaPort != old.mediaPort || ffmpeg != old.ffmpeg || ffprobe != old.ffprobe { result.append("media") }
        if devices != old.devices { result.append("devices") }
        if cast != old.cast { result.append("cast") }
        if daemon != old.daemon { result.append("daemon") }
        return result
    }
}
