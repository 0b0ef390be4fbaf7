import ArgumentParser
import SimulatedReceivers

/// `stream-WORD[=VALUE]`: what a Cast receiver does wrong with Cast Streaming.
enum SimulatedStreamFault: Sendable, Hashable {
    /// Shares of the datagrams that come in, 0 to 1.
    case lose(Double)
    case reorder(Double)
    case duplicate(Double)
    /// Milliseconds.
    case delay(Int)
    case unanswered
    /// The code of the refusal.
    case refused(Int)
    case refusedAgain
    case silent
    case closed

    static let words =
        "stream-lose=PERCENT, stream-reorder=PERCENT, stream-duplicate=PERCENT, stream-delay=MS, stream-unanswered, "
        + "stream-refused[=CODE], stream-refused-again, stream-silent, stream-closed"
    private static let refusalCode = 2

    /// Nil where the word is none of these. Throws `ValidationError`.
    init?(_ word: String, _ value: String?) throws {
        func share() throws -> Double {
            guard let value, let number = Double(value), (0...100).contains(number) else {
                throw ValidationError("\(word) needs a percentage from 0 to 100, such as \(word)=3")
            }
            return number / 100
        }
        func whole(_ range: ClosedRange<Int>, _ what: String, absent: Int? = nil) throws -> Int {
            if value == nil, let absent { return absent }
            guard let value, let number = Int(value), range.contains(number) else {
                throw ValidationError("\(word) needs \(what), such as \(word)=\(absent ?? 20)")
            }
            return number
        }
        func bare(_ fault: Self) throws -> Self {
            guard value == nil else { throw ValidationError("\(word) takes no value") }
            return fault
        }
        switch word {
        case "stream-lose": self = .lose(try share())
        case "stream-reorder": self = .reorder(try share())
        case "stream-duplicate": self = .duplicate(try share())
        case "stream-delay": self = .delay(try whole(0...10_000, "milliseconds from 0 to 10000"))
        case "stream-unanswered": self = try bare(.unanswered)
        case "stream-refused": self = .refused(try whole(1...9_999, "a code", absent: Self.refusalCode))
        case "stream-refused-again": self = try bare(.refusedAgain)
        case "stream-silent": self = try bare(.silent)
        case "stream-closed": self = try bare(.closed)
        default: return nil
        }
    }

    func apply(to faults: inout CastStreamingFaults) {
        switch self {
        case .lose(let share): faults.lose = share
        case .reorder(let share): faults.reorder = share
        case .duplicate(let share): faults.duplicate = share
        case .delay(let milliseconds): faults.delay = .milliseconds(milliseconds)
        case .unanswered: faults.neverAnswers = true
        case .refused(let code): faults.errorCode = code
        case .refusedAgain: faults.refusesSecondOffer = true
        case .silent: faults.isSilent = true
        case .closed: faults.portIsClosed = true
        }
    }
}
