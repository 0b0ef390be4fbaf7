import ArgumentParser
import RouteModel

/// What a room may have beside its devices. An option that is not given changes nothing, an empty value takes out what
/// was set.
struct RoomOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("Another name for it, in place of those it has; may be repeated.", valueName: "name"))
    var alias: [String] = []

    @Option(name: .long, help: ArgumentHelp("The loudest that it may be set to, 0 to 100.", valueName: "level"))
    var volumeLimit: String?

    @Option(
        name: .long, help: ArgumentHelp("When it is not to be loud: \"22:00-07:00 at 30 %\".", valueName: "hours"))
    var quietHours: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How loud it begins: preserve (as its device is), last (as it was last set), 40 or \"at most 40\".",
            valueName: "volume"))
    var startVolume: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How its slider becomes the device's: linear, \"decibel 50 taper 2\" or \"table 0 5 20 50 100\".",
            valueName: "curve"))
    var volumeCurve: String?

    @Option(
        name: .long, help: ArgumentHelp("Heard so much later than others, -5000ms to 5000ms.", valueName: "20ms"))
    var offset: String?

    var isEmpty: Bool {
        alias.isEmpty && [volumeLimit, quietHours, startVolume, volumeCurve, offset].allSatisfy { $0 == nil }
    }

    func validate() throws {
        if alias.contains(where: { $0.hasPrefix("@") }) {
            throw ValidationError("A name does not begin with @.")
        }
        do {
            var room = Room(name: "")
            try change(&room)
        } catch let error as RouterError {
            throw ValidationError("\(error.message). \(error.hint ?? "")")
        }
    }

    /// Throws `ValidationError`, or `configuration` for a form that is none.
    func change(_ room: inout Room) throws {
        if !alias.isEmpty { room.aliases = alias.filter { !$0.isEmpty } }
        if let volumeLimit { room.volumeLimit = try Self.value(volumeLimit, Self.limit) }
        if let quietHours { room.quietHours = try Self.value(quietHours) { try QuietHours($0) } }
        if let startVolume { room.startVolume = try Self.value(startVolume) { try StartVolume($0) } }
        if let volumeCurve { room.volumeCurve = try Self.value(volumeCurve) { try VolumeCurve($0) } }
        if let offset { room.offsetMilliseconds = try Self.value(offset, Self.milliseconds) ?? 0 }
    }

    private static func value<Value>(_ text: String, _ read: (String) throws -> Value) rethrows -> Value? {
        text.isEmpty ? nil : try read(text)
    }

    private static func limit(_ text: String) throws -> VolumePosition {
        guard let level = Int(text), (0...100).contains(level) else {
            throw ValidationError("The limit is a number from 0 to 100, not “\(CommandWords.typed(text))”.")
        }
        return VolumePosition(percent: Double(level))
    }

    private static func milliseconds(_ text: String) throws -> Int {
        let typed = CommandWords.typed(text)
        guard typed.hasSuffix("ms"), let value = Int(typed.dropLast(2)), (-5000...5000).contains(value) else {
            throw ValidationError("“\(typed)” is no offset. Write it with its unit, -5000ms to 5000ms.")
        }
        return value
    }
}
