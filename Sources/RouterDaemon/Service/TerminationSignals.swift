@preconcurrency import Dispatch
import Foundation

/// SIGTERM and SIGINT as a stream, in place of what they would do to the process.
enum TerminationSignals {
    /// The first is told; the second of its kind ends the process at once, for the polite end may hang on a device that
    /// has gone.
    ///
    /// A terminal that is closed ends nothing: what the daemon plays is everybody's.
    static func stream() -> AsyncStream<Int32> {
        signal(SIGHUP, SIG_IGN)
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
        let sources = [SIGTERM, SIGINT].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                signal(number, SIG_DFL)
                continuation.yield(number)
            }
            source.resume()
            return source
        }
        continuation.onTermination = { _ in
            for source in sources { source.cancel() }
        }
        return stream
    }
}
