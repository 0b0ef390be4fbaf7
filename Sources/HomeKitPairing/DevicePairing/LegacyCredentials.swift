/// What the legacy pairing leaves behind. Printing it gives a mask.
public struct LegacyCredentials: Sendable, Hashable, Codable, CustomStringConvertible, CustomReflectable {
    public let controller: ControllerIdentity
    /// Ed25519, 32 bytes; nil where the device did not tell.
    public let accessoryKey: [UInt8]?

    public init(controller: ControllerIdentity, accessoryKey: [UInt8]?) {
        precondition(accessoryKey.map { $0.count == 32 } ?? true)
        self.controller = controller
        self.accessoryKey = accessoryKey
    }

    /// Of what `encoded` gave. Throws for anything else.
    public init(parsing bytes: [UInt8]) throws(CredentialsError) {
        let items = try StoredCredentials.parse(bytes, form: .legacy)
        let controller = try StoredCredentials.controller(items)
        let key = items[.storedAccessoryKey]
        guard key.map({ $0.count == 32 }) ?? true else { throw .malformed }
        self.init(controller: controller, accessoryKey: key)
    }

    /// Secret.
    public func encoded() -> [UInt8] {
        let key = accessoryKey.map { [TLV8.Item(.storedAccessoryKey, $0)] } ?? []
        return TLV8(StoredCredentials.items(controller, form: .legacy) + key).encoded()
    }

    public init(from decoder: any Decoder) throws {
        try self.init(parsing: decoder.singleValueContainer().decode([UInt8].self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(encoded())
    }

    public var description: String { "LegacyCredentials(••••)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
