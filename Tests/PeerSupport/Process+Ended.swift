import Foundation

extension Process {
    /// Starts it and waits for its end; after `limit` it is killed, and ends so.
    func runToEnd(within limit: Duration = .seconds(300)) async throws {
        let ended = AsyncStream.makeStream(of: Void.self)
        terminationHandler = { _ in ended.continuation.finish() }
        try run()
        let number = processIdentifier
        let watchdog = DispatchWorkItem { kill(number, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + Double(limit.components.seconds), execute: watchdog)
        for await _ in ended.stream {}
        watchdog.cancel()
    }
}
