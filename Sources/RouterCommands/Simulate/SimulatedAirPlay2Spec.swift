import ArgumentParser
import SimulatedReceivers

/// `NAME[@ADDR[:PORT]][?KEY=VALUE&…]`: an AirPlay 2 receiver to simulate, and what kind of one.
struct SimulatedAirPlay2Spec: Sendable, Hashable {
    enum Pairing: String, Sendable, Hashable, CaseIterable {
        /// Transient pairing is enough, as it is for most speakers.
        case everybody
        /// With the code on its screen, as with Apple TV.
        case pin
        /// With the password of ROUTER_PASSWORD.
        case password
        /// HomeKit access control: nobody who isn't known, and nobody is.
        case home
        /// The older pairing with a code.
        case legacy
        /// None at all, and no encryption.
        case none
    }

    enum Timing: String, Sendable, Hashable, CaseIterable { case both, ptp, ntp }
    enum Streams: String, Sendable, Hashable, CaseIterable { case both, realtime, buffered }

    static let keys = "pairing, pin, timing, streams, record, codec-word, tsid, gid, gpn, igl"

    var receiver: SimulatedReceiverSpec
    var pairing = Pairing.everybody
    /// A code that stays the same.
    var code: String?
    var timing = Timing.both
    var streams = Streams.both
    var record = SimulatedAirPlay2Configuration.RecordOrder.any
    var ignoresCodecWord = false
    var pairID: String?
    var groupID: String?
    var groupName: String?
    var leadsGroup = false

    init(name: String) { receiver = SimulatedReceiverSpec(name: name) }

    /// Throws `ValidationError`.
    @Sendable init(parsing text: String) throws {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        receiver = try SimulatedReceiverSpec(parsing: parts[0])
        guard parts.count == 2 else { return }
        for setting in parts[1].split(separator: "&") {
            let pair = setting.split(separator: "=", maxSplits: 1).map(String.init)
            guard pair.count == 2 else {
                throw ValidationError("“\(Console.clean(String(setting)))” is no setting; write KEY=VALUE")
            }
            try set(pair[0], pair[1])
        }
    }

    private mutating func set(_ key: String, _ value: String) throws {
        switch key {
        case "pairing": pairing = try Self.word(key, value)
        case "pin":
            guard (4...8).contains(value.utf8.count), value.allSatisfy(\.isASCII), value.allSatisfy(\.isNumber) else {
                throw ValidationError("a pin has 4 to 8 digits")
            }
            code = value
            if pairing == .everybody { pairing = .pin }
        case "timing": timing = try Self.word(key, value)
        case "streams": streams = try Self.word(key, value)
        case "record": record = try Self.word(key, value)
        case "codec-word":
            guard ["needed", "ignored"].contains(value) else {
                throw ValidationError("codec-word is needed or ignored, not “\(Console.clean(value))”")
            }
            ignoresCodecWord = value == "ignored"
        case "tsid": pairID = value
        case "gid": groupID = value
        case "gpn": groupName = value
        case "igl":
            guard ["0", "1"].contains(value) else {
                throw ValidationError("igl is 1 for the one that leads its group, and 0 for the others")
            }
            leadsGroup = value == "1"
        default:
            throw ValidationError("there is no setting “\(Console.clean(key))”; the settings are \(Self.keys)")
        }
    }

    private static func word<Word: RawRepresentable<String> & CaseIterable>(_ key: String, _ value: String) throws
        -> Word
    {
        guard let word = Word(rawValue: value) else {
            let words = Word.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("\(key) is one of \(words), not “\(Console.clean(value))”")
        }
        return word
    }

    /// - Parameter password: of ROUTER_PASSWORD.
    func configuration(port: Int, password: String?) throws -> SimulatedAirPlay2Configuration {
        var configuration = SimulatedAirPlay2Configuration(name: receiver.name, host: receiver.host, port: port)
        configuration.pairing = try policy(password)
        configuration.timing =
            switch timing {
            case .both: [.ptp, .ntp]
            case .ptp: [.ptp]
            case .ntp: [.ntp]
            }
        switch streams {
        case .both: break
        case .realtime: configuration.streams.remove(.buffered)
        case .buffered: configuration.streams.remove(.realtime)
        }
        configuration.recordOrder = record
        configuration.ignoresCodecWord = ignoresCodecWord
        configuration.pairID = pairID
        configuration.groupID = groupID
        configuration.groupName = groupName
        configuration.leadsGroup = leadsGroup
        return configuration
    }

    private func policy(_ password: String?) throws -> PairingServerPolicy {
        let source = code.map { PairingServerPolicy.Code.fixed($0) } ?? .random
        switch pairing {
        case .everybody: return .everybody
        case .pin: return .code(source)
        case .password:
            guard let password else {
                throw ValidationError("“\(receiver.name)” is to want a password; give it by ROUTER_PASSWORD")
            }
            return .password(password)
        case .home: return .accessControl()
        case .legacy: return .legacy(.code(source))
        case .none: return PairingServerPolicy(code: nil, admitsStrangers: true)
        }
    }
}
