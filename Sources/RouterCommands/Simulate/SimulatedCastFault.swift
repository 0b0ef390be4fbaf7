import ArgumentParser
import SimulatedReceivers

/// What only a simulated Cast receiver does: ways of some devices, and deeds of people and other senders at a time.
enum SimulatedCastFault: Sendable, Hashable {
    case launchStatus
    case stopBroadcast
    case volume(SimulatedCastConfiguration.VolumeControl)
    case refuseNames
    case needCORS
    case silence
    case liveWindow(Double)
    case noDecoder(String)
    case launchError(String)
    case step(SimulatedCastStep)

    static let words =
        "launch-status, stop-broadcast, volume=fixed|master, refuse-names, need-cors, silence, live=SECONDS, "
        + "no-decoder=TYPE, launch-error=REASON"
    /// Words that take a time: `WORD@SECONDS[=VALUE]`.
    static let timedWords =
        "pause, play, take-over[=APP], crash, cut, restart, restart-keeping, sleep, wake, move[=PORT], "
        + "media-error[=CODE], other-pause, other-play, other-stop, other-jump[=STEPS], other-seek=SECONDS, "
        + "other-volume=LEVEL, other-load=URL, other-insert=URL, other-remove=ITEM, other-shuffle, other-launch=APPID"
    /// What another sender's URL is taken for.
    private static let contentType = "audio/mpeg"

    static let allWords = Set(
        (words + ", " + timedWords).split(separator: ",").map { part in
            String(part.drop { $0 == " " }.prefix { $0 != "=" && $0 != "[" })
        })

    /// Nil if the word is none of these. Throws `ValidationError`.
    static func parse(_ word: String, _ value: String?) throws -> SimulatedCastFault? {
        if let at = word.firstIndex(of: "@") {
            let time = word[word.index(after: at)...]
            let name = String(word[..<at])
            guard let seconds = Double(time), (0...86_400).contains(seconds) else {
                throw ValidationError("“\(time)” is not a time in seconds, as in \(name)@3")
            }
            guard let control = try control(name, value) else {
                throw ValidationError("nothing is called “\(name)” that happens at a time; there is \(timedWords)")
            }
            return .step(SimulatedCastStep(after: .seconds(seconds), control))
        }
        switch word {
        case "launch-status": return try bare(.launchStatus, word, value)
        case "stop-broadcast": return try bare(.stopBroadcast, word, value)
        case "refuse-names": return try bare(.refuseNames, word, value)
        case "need-cors": return try bare(.needCORS, word, value)
        case "silence": return try bare(.silence, word, value)
        case "volume":
            guard let control = value.flatMap(SimulatedCastConfiguration.VolumeControl.init(rawValue:)) else {
                throw ValidationError("volume needs a kind: volume=fixed, volume=master or volume=attenuation")
            }
            return .volume(control)
        case "live": return .liveWindow(try number(word, value, 1...86_400))
        case "no-decoder": return .noDecoder(try text(word, value, "audio/flac"))
        case "launch-error": return .launchError(try text(word, value, "NOT_FOUND"))
        default:
            guard try control(word, value ?? "1") == nil else {
                throw ValidationError("\(word) happens at a time, as in \(word)@3: seconds after the first sound")
            }
            return nil
        }
    }

    private static func bare(_ fault: SimulatedCastFault, _ word: String, _ value: String?) throws -> SimulatedCastFault
    {
        guard value == nil else { throw ValidationError("\(word) takes no value") }
        return fault
    }

    private static func text(_ word: String, _ value: String?, _ example: String) throws -> String {
        guard let value, !value.isEmpty else {
            throw ValidationError("\(word) needs a value, such as \(word)=\(example)")
        }
        return value
    }

    private static func number(
        _ word: String, _ value: String?, _ range: ClosedRange<Double>, absent: Double? = nil
    ) throws -> Double {
        if value == nil, let absent { return absent }
        guard let number = value.flatMap(Double.init), range.contains(number) else {
            throw ValidationError("\(word) needs a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private static func control(_ word: String, _ value: String?) throws -> SimulatedCastControl? {
        func whole(_ range: ClosedRange<Double>, absent: Double? = nil) throws -> Int {
            Int(try number(word, value, range, absent: absent))
        }
        func url() throws -> String { try text(word, value, "http://127.0.0.1/song.mp3") }
        return switch word {
        case "pause": .pressPause
        case "play": .pressPlay
        case "take-over": .takeOver(app: value ?? "YouTube")
        case "crash": .crash
        case "cut": .dropConnections
        case "restart": .restart(keepsSessions: false)
        case "restart-keeping": .restart(keepsSessions: true)
        case "sleep": .sleep
        case "wake": .wake(keepsSessions: true)
        case "move": .moveLeader(port: try whole(0...65_535, absent: 0))
        case "media-error": .mediaError(code: try whole(1...9_999, absent: 905))
        case "other-pause": .otherSender(.pause)
        case "other-play": .otherSender(.play)
        case "other-stop": .otherSender(.stop)
        case "other-shuffle": .otherSender(.shuffle)
        case "other-jump": .otherSender(.jump(try whole(-5_000...5_000, absent: 1)))
        case "other-seek": .otherSender(.seek(try number(word, value, 0...86_400)))
        case "other-volume": .otherSender(.deviceVolume(try number(word, value, 0...1)))
        case "other-load": .otherSender(.load(url: try url(), contentType: contentType))
        case "other-insert": .otherSender(.insert(url: try url(), contentType: contentType, before: nil))
        // People count from 1.
        case "other-remove": .otherSender(.remove(at: try whole(1...5_000) - 1))
        case "other-launch": .otherSender(.launch(app: try text(word, value, "233637DE")))
        default: nil
        }
    }

    func apply(to configuration: inout SimulatedCastConfiguration) {
        switch self {
        case .launchStatus: configuration.launchStyle = .launchStatus
        case .stopBroadcast: configuration.stopStyle = .broadcastOnly
        case .volume(let control): configuration.volumeControl = control
        case .refuseNames: configuration.refusesHostNames = true
        case .needCORS: configuration.needsOrigin = true
        case .silence: configuration.playsSilence = true
        case .liveWindow(let seconds): configuration.liveWindow = seconds
        case .noDecoder(let type): configuration.refusedContentTypes.insert(type)
        case .launchError(let reason): configuration.faults.launchError = reason
        case .step(let step): configuration.script.append(step)
        }
    }
}

/// `NAME[@ADDR[:PORT]]=MEMBER[,MEMBER…]`: a group to simulate. Members are receivers of the same command, or only names.
struct SimulatedGroupSpec: Sendable, Hashable {
    static let maximumMembers = 32

    var receiver: SimulatedReceiverSpec
    var members: [String]

    /// Throws `ValidationError`.
    @Sendable init(parsing text: String) throws {
        guard let equals = text.lastIndex(of: "=") else {
            throw ValidationError("a group needs its members: NAME=MEMBER,MEMBER")
        }
        receiver = try SimulatedReceiverSpec(parsing: String(text[..<equals]))
        members = text[text.index(after: equals)...].split(separator: ",").map(String.init)
        guard !members.isEmpty, members.count <= Self.maximumMembers, Set(members).count == members.count else {
            throw ValidationError("a group has 1 to \(Self.maximumMembers) members, each once: NAME=MEMBER,MEMBER")
        }
    }
}
