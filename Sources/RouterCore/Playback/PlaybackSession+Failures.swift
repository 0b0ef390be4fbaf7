import RouteBackend
import RouteModel

/// Items that do not play, and what is done about them (`model.md` section 3). The loss of a network or a device is none
/// of this: it is waited out.
extension PlaybackSession {
    /// What failures have led to.
    struct Failures: Sendable {
        /// How often items were tried again.
        var tries: [ItemID: Int] = [:]
        /// Items that are to be tried again, and from where.
        var again: [ItemID: MediaTime] = [:]
        /// What is waited for.
        var hold: Hold?
        /// The policy says stop: nothing follows what failed.
        var halted = false
        /// Items in a row that were found not to play before their turn. A server or disk that is away for a while is not to
        /// cost the whole queue.
        var ahead = 0
    }

    /// Deals with an item that did not play, by the queue's policy.
    ///
    /// - Parameter place: where in it to begin, if it is tried again; nil: at its beginning.
    func itemFailed(_ item: ItemID, _ error: RouterError, at place: MediaTime? = nil) async {
        guard let entry = queue.item(item), entry.failure == nil else { return }
        if case .retry(let limit) = queue.failurePolicy, failures.tries[item, default: 0] < limit {
            let attempt = failures.tries[item, default: 0] + 1
            failures.tries[item] = attempt
            failures.again[item] = place ?? entry.start
            await notice(
                .warning, "“\(entry.title)”: \(error.message); it is tried again (\(attempt) of \(limit))",
                hint: error.hint)
            return
        }
        failures.tries[item] = nil
        if queue.failurePolicy == .stop { failures.halted = true }
        queue.markFailed(item, error.message)
        consecutiveFailures += 1
        lastItemError = error
        fillWindows()
        await notice(.error, "“\(entry.title)”: \(error.message)", hint: error.hint)
        await publish()
    }

    /// Where in an item to try again, after the time that its attempts so far have earned it; nil where it is not to be.
    func againPlace(of item: ItemID) async -> MediaTime? {
        guard let place = failures.again.removeValue(forKey: item) else { return nil }
        let attempt = Int64(failures.tries[item, default: 1])
        guard (try? await clock.sleep(nanoseconds: attempt * retryPauseNanoseconds)) != nil, !ended else { return nil }
        return place
    }

    /// Whether nothing more is to be begun by itself.
    var hasGivenUp: Bool { failures.halted || consecutiveFailures >= consecutiveFailureLimit }

    /// A person begins something: whatever became of it before, it is tried.
    func forgetFailures(of item: ItemID) {
        consecutiveFailures = 0
        failures.halted = false
        failures.ahead = 0
        failures.hold = nil
        queue.clearFailure(item)
        failures.tries[item] = nil
        failures.again[item] = nil
    }

    /// With nothing but failures behind it, a queue that is through has failed; so has one that failures stopped.
    var queueStopReason: StopReason {
        hasGivenUp || queue.items.allSatisfy { $0.failure != nil } ? .error : .finished
    }

    /// Says why nothing more is begun, where that is by too many failures in a row.
    func tellGivenUp() async {
        guard !failures.halted, consecutiveFailures >= consecutiveFailureLimit else { return }
        await notice(
            .error, "stopped after \(consecutiveFailures) items in a row that did not play",
            hint: "Check that the receiver plays this kind of file")
    }
}
