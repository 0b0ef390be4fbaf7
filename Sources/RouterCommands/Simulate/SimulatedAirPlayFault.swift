import ArgumentParser
import SimulatedReceivers

/// What only simulated AirPlay receivers do wrong, of one generation or of both.
enum SimulatedAirPlayFault: Sendable, Hashable {
    /// How many sync packets get lost at the start.
    case lostSyncs(Int)
    case noTiming
    case noResends
    case missingSequence
    case wrongSequence
    /// How many right passwords are asked for again.
    case challenges(Int)
    case negativePorts
    /// Seconds after RECORD.
    case close(Double)
    /// A method or a path, and what it is answered with.
    case status(String, Int)
    case ignoredNTP
    case deaf
    /// Seconds.
    case lateEvents(Double)
    case earlyVolume
    case refusedAnchors(Int)
    case noFeedback
    case pairing(PairingServerStep, PairingServerFault)
    /// Seconds after RECORD.
    case press(SimulatedAirPlayButton, Double)

    static let words =
        "lost-sync=N, no-timing, no-resend, cseq=missing|wrong, challenge=N, negative-ports, close=SECONDS, "
        + "status=METHOD/CODE, press@SECONDS=BUTTON; of AirPlay 2 ntp-ignored, deaf, late-events=SECONDS, early-volume, anchor-refused=N, "
        + "no-feedback, pairing-STEP=FAULT"

    static let allWords: Set<String> = Set(
        [
            "lost-sync", "no-timing", "no-resend", "cseq", "challenge", "negative-ports", "close", "status",
            "ntp-ignored", "deaf", "late-events", "early-volume", "anchor-refused", "no-feedback", "press",
        ] + PairingServerStep.allCases.map { "pairing-\($0.rawValue)" })

    /// Nil where the word is none of these. Throws `ValidationError`.
    init?(_ word: String, _ value: String?) throws {
        func bare(_ fault: Self) throws -> Self {
            guard value == nil else { throw ValidationError("\(word) takes no value") }
            return fault
        }
        func count(_ absent: Int) throws -> Int {
            guard let number = value == nil ? absent : value.flatMap({ Int($0) }), (1...1_000).contains(number) else {
                throw ValidationError("\(word) needs a number from 1 to 1000, such as \(word)=\(absent)")
            }
            return number
        }
        func seconds(_ absent: Double) throws -> Double {
            guard let number = value.flatMap({ Double($0) }), (0...86_400).contains(number) else {
                throw ValidationError("\(word) needs seconds, such as \(word)=\(Int(absent))")
            }
            return number
        }
        switch word {
        case "lost-sync": self = .lostSyncs(try count(1))
        case "no-timing": self = try bare(.noTiming)
        case "no-resend": self = try bare(.noResends)
        case "cseq":
            guard let fault = ["missing": Self.missingSequence, "wrong": .wrongSequence][value ?? ""] else {
                throw ValidationError("cseq needs a kind: cseq=missing or cseq=wrong")
            }
            self = fault
        case "challenge": self = .challenges(try count(1))
        case "negative-ports": self = try bare(.negativePorts)
        case "close": self = .close(try seconds(30))
        case "status": self = try Self.status(value)
        case "ntp-ignored": self = try bare(.ignoredNTP)
        case "deaf": self = try bare(.deaf)
        case "late-events": self = .lateEvents(try seconds(2))
        case "early-volume": self = try bare(.earlyVolume)
        case "anchor-refused": self = .refusedAnchors(try count(3))
        case "no-feedback": self = try bare(.noFeedback)
        case let word where word.hasPrefix("pairing-"): self = try Self.pairing(word, value)
        case let word where word.hasPrefix("press@"): self = try Self.press(word, value)
        default: return nil
        }
    }

    private static func status(_ value: String?) throws -> Self {
        let parts = (value ?? "").split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 2, let status = parts.last.flatMap({ Int($0) }), (400...599).contains(status) else {
            throw ValidationError(
                "status needs a method or path and what it is answered with, such as status=SETUP/453 or "
                    + "status=/command/501")
        }
        let target = parts.dropLast().joined(separator: "/")
        guard !target.isEmpty else { throw ValidationError("status needs a method or path, such as status=RECORD/500") }
        return .status(target, status)
    }

    private static func pairing(_ word: String, _ value: String?) throws -> Self {
        guard let step = PairingServerStep(rawValue: String(word.dropFirst("pairing-".count))) else {
            let steps = PairingServerStep.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("“\(word)” is no step of pairing; the steps are \(steps)")
        }
        guard let fault = value.flatMap({ PairingServerFault($0) }) else {
            throw ValidationError(
                "\(word) needs a fault, such as \(word)=error-2, error-3-30, status-470, hang, close, truncate, "
                    + "wrong-proof, wrong-signature or wrong-identity, each with x2 behind for the first two times")
        }
        return .pairing(step, fault)
    }

    private static func press(_ word: String, _ value: String?) throws -> Self {
        let time = String(word.dropFirst("press@".count))
        guard let seconds = Double(time), (0...86_400).contains(seconds) else {
            throw ValidationError("“\(time)” is not a time in seconds, as in press@3=pause")
        }
        guard let button = value.flatMap(SimulatedAirPlayButton.init(rawValue:)) else {
            let buttons = SimulatedAirPlayButton.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("press needs a button: \(buttons)")
        }
        return .press(button, seconds)
    }

    /// False where an AirPlay 1 receiver cannot have this fault.
    func apply(to configuration: inout SimulatedRAOPConfiguration) -> Bool {
        switch self {
        case .lostSyncs(let count): configuration.faults.dropSyncs = count
        case .noTiming: configuration.faults.ignoresTiming = true
        case .noResends: configuration.faults.ignoresGaps = true
        case .missingSequence: configuration.faults.sequenceHeader = .missing
        case .wrongSequence: configuration.faults.sequenceHeader = .wrong
        case .challenges(let count): configuration.faults.extraChallenges = count
        case .negativePorts: configuration.faults.writesNegativePorts = true
        case .close(let seconds): configuration.faults.closesAfterSeconds = seconds
        case .status(let method, let status): configuration.faults.refusals[method] = status
        case .press(let button, let seconds): configuration.buttons.append(.init(after: seconds, button))
        default: return false
        }
        return true
    }

    func apply(to configuration: inout SimulatedAirPlay2Configuration) {
        switch self {
        case .lostSyncs(let count): configuration.faults.dropSyncs = count
        case .noTiming: configuration.faults.ignoresTiming = true
        case .noResends: configuration.faults.ignoresGaps = true
        case .missingSequence: configuration.faults.sequenceHeader = .missing
        case .wrongSequence: configuration.faults.sequenceHeader = .wrong
        case .challenges(let count): configuration.faults.extraChallenges = count
        case .negativePorts: configuration.faults.writesNegativePorts = true
        case .close(let seconds): configuration.faults.closesAfterSeconds = seconds
        case .status(let method, let status): configuration.faults.refusals[method] = status
        case .ignoredNTP: configuration.faults.ignoresNTP = true
        case .deaf: configuration.faults.isDeafToPTP = true
        case .lateEvents(let seconds): configuration.faults.eventPortDelay = seconds
        case .earlyVolume: configuration.faults.refusesEarlyVolume = true
        case .refusedAnchors(let count): configuration.faults.anchorRefusals = count
        case .noFeedback: configuration.faults.ignoresFeedback = true
        case .pairing(let step, let fault): configuration.pairing.faults[step] = fault
        case .press(let button, let seconds): configuration.buttons.append(.init(after: seconds, button))
        }
    }
}
