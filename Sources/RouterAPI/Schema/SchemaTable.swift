import RouteModel

/// Types that say less about themselves by decoding than the document should: scalars, and those that decode by hand.
enum SchemaTable {
    struct Entry: Sendable {
        var schema: JSONSchema
        var value: any Sendable
    }

    /// Seconds that a position or length can have: ten years.
    static let seconds = -MediaDescription.maximumSeconds...MediaDescription.maximumSeconds

    static let samples = Dictionary(uniqueKeysWithValues: [
        entry(JSONValue.null, .anything), entry("", .string(lengths: nil)), entry(true, .boolean),
        entry(0, .integer(nil)),
        entry(Int64(0), .integer(nil)), entry(UInt32(0), .integer(nil)), entry(0.0, .number(nil)),
        entry(MediaTime.zero, .number(seconds)), entry(VolumePosition(0), .number(0...1)),
        entry(
            MediaSource.url(""),
            .choice([
                .object([.init("file", .string(lengths: nil))]), .object([.init("url", .string(lengths: nil))]),
                .object([.init("live", liveInput)]),
            ])),
        entry(LiveInput(.standardInput), liveInput), entry(CapabilityState.unknown, capabilityState),
        entry(
            RouteCapabilities(),
            .object(
                RouteCapability.allCases.map { .init($0.rawValue, capabilityState, required: false) }
                    + [.init("sync", .words(SyncClass.allCases.map(\.rawValue)))])),
    ])

    private static let capabilityState = JSONSchema.object([
        .init("state", .words(["available", "unavailable", "unsupported", "unknown"])),
        .init("reason", .string(lengths: nil), required: false),
    ])

    private static let liveInput = JSONSchema.object([
        .init("kind", .words(LiveInput.Kind.allCases.map(\.rawValue))), .init("name", .string(lengths: nil)),
        .init(
            "raw",
            .object([
                .init("sample", .words(RawAudio.Sample.allCases.map(\.rawValue))),
                .init("rate", .integer(RawAudio.rates)), .init("channels", .integer(RawAudio.channelCounts)),
            ]), required: false),
    ])

    private static func entry<Value: Sendable>(_ value: Value, _ schema: JSONSchema) -> (ObjectIdentifier, Entry) {
        (ObjectIdentifier(Value.self), Entry(schema: schema, value: value))
    }
}
