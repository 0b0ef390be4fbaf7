import ArgumentParser
import Foundation
import SimulatedReceivers

/// `[NAME:]FAULT[=VALUE]`: something that a simulated receiver does wrong on purpose.
struct SimulatedFault: Sendable, Hashable {
    enum Deed: Sendable, Hashable {
        case refuse
        /// Seconds before each answer.
        case slow(Double)
        /// The number of the message, from 1, at which the connection is dropped.
        case drop(Int)
        case wrongPassword
        case busy
        /// Share of the audio packets, 0 to 1.
        case lose(Double)
        /// `detailedErrorCode`.
        case loadFailed(Int)
        case neverAnswer
        /// What only Cast receivers do.
        case cast(SimulatedCastFault)
        /// How a challenge of device authentication is answered.
        case authentication(SimulatedCastConfiguration.AuthenticationMode)
        case stream(SimulatedStreamFault)
        /// What only AirPlay receivers do.
        case airPlay(SimulatedAirPlayFault)
    }

    static let words =
        "refuse, slow[=SECONDS], drop=N, wrong-password, busy, lose=PERCENT, load-failed[=CODE], never-answer; of AirPlay "
        + "\(SimulatedAirPlayFault.words); of Cast auth=MODE, \(SimulatedCastFault.words); of Cast Streaming \(SimulatedStreamFault.words); of Cast, SECONDS "
        + "after the first sound, as in pause@3: \(SimulatedCastFault.timedWords)"
    private static let slowSeconds = 2.0
    /// The code of a load that failed for no particular reason.
    private static let loadFailedCode = 905

    /// Nil: of every receiver that can have it.
    var receiver: String?
    var deed: Deed
    /// As it was written.
    var text: String

    /// Throws `ValidationError`.
    @Sendable init(parsing text: String) throws {
        self.text = text
        var rest = Substring(text)
        if let colon = Self.colon(in: text) {
            receiver = String(text[..<colon])
            rest = text[text.index(after: colon)...]
        }
        let parts = rest.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        deed = try Self.deed(parts[0], parts.count == 2 ? parts[1] : nil)
    }

    /// The colon after a receiver's name. Names and values may hold colons too: the last one counts before which no
    /// value began.
    private static func colon(in text: String) -> String.Index? {
        guard let last = text.lastIndex(of: ":") else { return nil }
        let word = text[text.index(after: last)...].prefix { $0.isLetter || $0 == "-" }
        let known = [plainWords, SimulatedCastFault.allWords, SimulatedAirPlayFault.allWords]
        if known.contains(where: { $0.contains(String(word)) }) { return last }
        return text.prefix { $0 != "=" }.lastIndex(of: ":")
    }

    private static let plainWords: Set<String> = [
        "refuse", "slow", "drop", "wrong-password", "busy", "lose", "load-failed", "never-answer",
    ]

    private static func deed(_ word: String, _ value: String?) throws -> Deed {
        func bare(_ deed: Deed) throws -> Deed {
            guard value == nil else { throw ValidationError("\(word) takes no value") }
            return deed
        }
        func number(_ range: ClosedRange<Double>, _ what: String, absent: Double? = nil) throws -> Double {
            if value == nil, let absent { return absent }
            guard let value, let number = Double(value), range.contains(number) else {
                throw ValidationError("\(word) needs \(what), such as \(word)=\(Int(absent ?? 3))")
            }
            return number
        }
        func whole(_ range: ClosedRange<Int>, _ what: String, absent: Int? = nil) throws -> Int {
            if value == nil, let absent { return absent }
            guard let value, let number = Int(value), range.contains(number) else {
                throw ValidationError("\(word) needs \(what), such as \(word)=\(absent ?? 3)")
            }
            return number
        }
        return switch word {
        case "refuse": try bare(.refuse)
        case "slow": .slow(try number(0...3_600, "seconds", absent: slowSeconds))
        case "drop": .drop(try whole(1...1_000_000, "the number of a message"))
        case "wrong-password": try bare(.wrongPassword)
        case "busy": try bare(.busy)
        case "lose": .lose(try number(0...100, "a percentage from 0 to 100") / 100)
        case "load-failed": .loadFailed(try whole(1...9_999, "a code", absent: loadFailedCode))
        case "never-answer": try bare(.neverAnswer)
        case "auth": .authentication(try authentication(value))
        case let word:
            if let fault = try SimulatedStreamFault(word, value) {
                .stream(fault)
            } else if let fault = try SimulatedAirPlayFault(word, value) {
                .airPlay(fault)
            } else if let fault = try SimulatedCastFault.parse(word, value) {
                .cast(fault)
            } else {
                throw ValidationError("there is no fault “\(word)”; the faults are \(words)")
            }
        }
    }

    private static func authentication(_ value: String?) throws -> SimulatedCastConfiguration.AuthenticationMode {
        let modes = SimulatedCastConfiguration.AuthenticationMode.self
        guard let mode = value.flatMap(modes.init(rawValue:)) else {
            throw ValidationError(
                "auth needs one of \(modes.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return mode
    }

    /// False where a Cast receiver cannot have this fault.
    func apply(to configuration: inout SimulatedCastConfiguration) -> Bool {
        switch deed {
        case .refuse: configuration.faults.refusesConnections = true
        case .slow(let seconds): configuration.faults.answerDelay = .seconds(seconds)
        case .drop(let message): configuration.faults.dropsConnectionAtMessage = message
        case .busy: configuration.faults.launchError = "NOT_ALLOWED"
        case .loadFailed(let code): configuration.faults.loadFails = code
        case .neverAnswer: configuration.faults.neverAnswers = true
        case .cast(let fault): fault.apply(to: &configuration)
        case .authentication(let mode): configuration.authentication = mode
        case .stream(let fault): fault.apply(to: &configuration.faults.streaming)
        // Cast has no passwords, and its sound comes by TCP.
        case .wrongPassword, .lose, .airPlay: return false
        }
        return true
    }

    /// False where an AirPlay 1 receiver cannot have this fault.
    func apply(to configuration: inout SimulatedRAOPConfiguration) -> Bool {
        switch deed {
        case .refuse: configuration.faults.refusesConnections = true
        case .slow(let seconds): configuration.faults.answerDelay = seconds
        case .drop(let message): configuration.faults.closesAfterRequests = message
        case .wrongPassword: configuration.password = UUID().uuidString
        case .busy: configuration.faults.isBusy = true
        case .lose(let share): configuration.faults.dropAudio = share
        case .neverAnswer: configuration.faults.neverAnswers = true
        case .airPlay(let fault): return fault.apply(to: &configuration)
        // AirPlay 1 is sent the sound itself, and loads nothing.
        case .loadFailed, .cast, .stream, .authentication: return false
        }
        return true
    }

    /// False where an AirPlay 2 receiver cannot have this fault.
    func apply(to configuration: inout SimulatedAirPlay2Configuration) -> Bool {
        switch deed {
        case .refuse: configuration.faults.refusesConnections = true
        case .slow(let seconds): configuration.faults.answerDelay = seconds
        case .drop(let message): configuration.faults.closesAfterRequests = message
        case .wrongPassword: configuration.pairing = .password(UUID().uuidString)
        case .busy: configuration.faults.isBusy = true
        case .lose(let share): configuration.faults.dropAudio = share
        case .neverAnswer: configuration.faults.neverAnswers = true
        case .airPlay(let fault): fault.apply(to: &configuration)
        case .loadFailed, .cast, .stream, .authentication: return false
        }
        return true
    }
}
