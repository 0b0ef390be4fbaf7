import RouteModel

/// What a key means.
enum PlayerKey: Sendable, Equatable {
    case toggle, next, previous, back, forward, louder, softer, mute, quit
    case faster, slower, skipAd, nextText

    /// The command it stands for by itself; muting, speed and subtitles depend on how they are now.
    var command: RemoteCommand? {
        switch self {
        case .toggle: .toggle
        case .next: .next
        case .previous: .previous
        case .back: .seekBy(MediaTime(seconds: -10))
        case .forward: .seekBy(MediaTime(seconds: 10))
        case .louder: .stepVolume(0.05, room: nil)
        case .softer: .stepVolume(-0.05, room: nil)
        case .skipAd: .skipAd
        case .mute, .quit, .faster, .slower, .nextText: nil
        }
    }

    /// The keys in what a terminal sent at once. Sequences of other keys are passed over as wholes, so that no letter in
    /// them is taken for a key.
    static func parse(_ bytes: some Sequence<UInt8>) -> [PlayerKey] {
        var rest = Array(bytes)[...]
        var keys: [PlayerKey] = []
        while let byte = rest.popFirst() {
            if byte == 0x1B {
                if let key = sequence(&rest) { keys.append(key) }
            } else if let key = plain(byte) {
                keys.append(key)
            }
        }
        return keys
    }

    private static func plain(_ byte: UInt8) -> PlayerKey? {
        switch UnicodeScalar(byte) {
        case " ": .toggle
        case "n", "N": .next
        case "p", "P": .previous
        case "+", "=": .louder
        case "-": .softer
        case "m", "M": .mute
        case "q", "Q": .quit
        case "]": .faster
        case "[": .slower
        case "a", "A": .skipAd
        case "t", "T": .nextText
        default: nil
        }
    }

    /// What follows an escape: CSI (parameters, then one final byte), SS3 (one byte), or a key with Alt (one byte).
    private static func sequence(_ rest: inout ArraySlice<UInt8>) -> PlayerKey? {
        guard let kind = rest.popFirst() else { return nil }
        guard kind == UInt8(ascii: "[") || kind == UInt8(ascii: "O") else { return nil }
        var parameters = 0
        while let byte = rest.popFirst() {
            if kind == UInt8(ascii: "["), (0x20...0x3F).contains(byte) {
                parameters += 1
                continue
            }
            // Arrows with Shift, Ctrl or Alt carry parameters, and mean nothing here.
            guard parameters == 0 else { return nil }
            switch UnicodeScalar(byte) {
            case "A": return .louder
            case "B": return .softer
            case "C": return .forward
            case "D": return .back
            default: return nil
            }
        }
        return nil
    }
}
