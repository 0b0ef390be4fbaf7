/// Something that happened at a simulated receiver, in domain words ("load", "paused", "fetch"): the same words as in
/// its journal.
public struct SimulatedReceiverEvent: Sendable, Hashable {
    public var word: String
    /// Host monotonic nanoseconds.
    public var hostNanoseconds: Int64
    public var details: [String: JSONValue]

    public init(_ word: String, at hostNanoseconds: Int64, _ details: [String: JSONValue] = [:]) {
        self.word = word
        self.hostNanoseconds = hostNanoseconds
        self.details = details
    }

    public subscript(_ detail: String) -> JSONValue? { details[detail] }
}
