import Foundation

/// Names to addresses, away from the threads that everything else runs on: the system's resolver blocks.
enum HostLookup {
    static func resolve(_ host: String) async -> String? {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: NetworkAddress.resolve(host)) }
        }
    }
}
