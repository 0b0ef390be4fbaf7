/// Who we are towards devices.
public struct ControllerIdentity: Sendable, Hashable {
    /// A UUID in upper case; 1 to 255 bytes.
    public let identifier: String
    public let signingKey: SigningKey

    public init(identifier: String, signingKey: SigningKey) {
        precondition((1...255).contains(identifier.utf8.count))
        self.identifier = identifier
        self.signingKey = signingKey
    }

    /// As devices of the legacy pairing know us: the same key, and 16 hexadecimal digits that follow from the identifier.
    public var legacy: ControllerIdentity {
        let digits = PairingCrypto.sha512(Array(identifier.utf8)).prefix(8).map { byte in
            let text = String(byte, radix: 16, uppercase: true)
            return byte < 16 ? "0" + text : text
        }
        return ControllerIdentity(identifier: digits.joined(), signingKey: signingKey)
    }
}

/// What pair-setup leaves behind, and pair-verify needs. Printing it gives a mask.
public struct HomeKitCredentials: Sendable, Hashable, Codable, CustomStringConvertible, CustomReflectable {
    public let controller: ControllerIdentity
    /// 1 to 255 bytes; most devices have a UUID or a MAC address here, as text.
    public let accessoryIdentifier: [UInt8]
    /// Ed25519, 32 bytes.
    public let accessoryKey: [UInt8]

    public init(controller: ControllerIdentity, accessoryIdentifier: [UInt8], accessoryKey: [UInt8]) {
        precondition((1...255).contains(accessoryIdentifier.count) && accessoryKey.count == 32)
        self.controller = controller
        self.accessoryIdentifier = accessoryIdentifier
        self.accessoryKey = accessoryKey
    }

    /// Of what `encoded` gave. Throws for anything else.
    public init(parsing bytes: [UInt8]) throws(CredentialsError) {
        let items = try StoredCredentials.parse(bytes, form: .homeKit)
        let controller = try StoredCredentials.controller(items)
        guard let identifier = items[.storedAccessory], (1...255).contains(identifier.count),
            let key = items[.storedAccessoryKey], key.count == 32
        else { throw .malformed }
        self.init(controller: controller, accessoryIdentifier: identifier, accessoryKey: key)
    }

    /// Secret.
    public func encoded() -> [UInt8] {
        TLV8(
            StoredCredentials.items(controller, form: .homeKit) + [
                .init(.storedAccessory, accessoryIdentifier), .init(.storedAccessoryKey, accessoryKey),
            ]
        ).encoded()
    }

    public init(from decoder: any Decoder) throws {
        try self.init(parsing: decoder.singleValueContainer().decode([UInt8].self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(encoded())
    }

    public var description: String { "HomeKitCredentials(••••)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why bytes are no credentials.
public enum CredentialsError: Error, Sendable, Hashable {
    case malformed
    /// Of another kind of pairing, or by a later version of ours.
    case otherForm
}

/// How credentials are kept: TLV8 with types of our own.
enum StoredCredentials {
    enum Form: UInt8 {
        case homeKit = 1
        case legacy = 2
    }

    static func items(_ controller: ControllerIdentity, form: Form) -> [TLV8.Item] {
        [
            .init(.storedForm, [form.rawValue]), .init(.storedController, Array(controller.identifier.utf8)),
            .init(.storedSeed, controller.signingKey.seed),
        ]
    }

    static func parse(_ bytes: [UInt8], form: Form) throws(CredentialsError) -> TLV8 {
        guard let items = try? TLV8(parsing: bytes), let kept = items.byte(.storedForm) else { throw .malformed }
        guard kept == form.rawValue else { throw .otherForm }
        return items
    }

    static func controller(_ items: TLV8) throws(CredentialsError) -> ControllerIdentity {
        guard let name = items[.storedController], (1...255).contains(name.count),
            let identifier = String(validating: name, as: UTF8.self), let seed = items[.storedSeed], seed.count == 32
        else { throw .malformed }
        return ControllerIdentity(identifier: identifier, signingKey: SigningKey(seed: seed))
    }
}

extension TLV8.Tag {
    static let storedForm = TLV8.Tag(rawValue: 0x80)
    static let storedController = TLV8.Tag(rawValue: 0x81)
    static let storedSeed = TLV8.Tag(rawValue: 0x82)
    static let storedAccessory = TLV8.Tag(rawValue: 0x83)
    static let storedAccessoryKey = TLV8.Tag(rawValue: 0x84)
}
