/// A controller that a device knows.
public struct PairedController: Sendable, Hashable {
    public var identifier: [UInt8]
    /// Ed25519, 32 bytes.
    public var publicKey: [UInt8]
    /// Whether it may add and remove others.
    public var isAdmin: Bool

    public init(identifier: [UInt8], publicKey: [UInt8], isAdmin: Bool) {
        self.identifier = identifier
        self.publicKey = publicKey
        self.isAdmin = isAdmin
    }
}

/// Makes another controller known to the device (`Protocols/pairing/README.md`, “Controllers”). It, and the two below, go
/// over the encrypted channel of an admin.
public struct PairAdd: PairingRung {
    private let controller: PairedController

    public init(_ controller: PairedController) { self.controller = controller }

    public var request: PairingRequest {
        .pairings(
            "/pair-add", method: 3,
            [
                .init(.identifier, controller.identifier), .init(.publicKey, controller.publicKey),
                .init(.permissions, [controller.isAdmin ? 1 : 0]),
            ])
    }

    /// Throws `refused` with `authentication` where we are no admin, `maxPeers` where there is no room.
    public func accept(_ answer: PairingAnswer) throws(PairingError) { _ = try answer.items(of: .addM2) }
}

/// Makes the device forget a controller, ourselves as well. Its channels end then.
public struct PairRemove: PairingRung {
    private let identifier: [UInt8]

    public init(identifier: [UInt8]) { self.identifier = identifier }

    public var request: PairingRequest {
        .pairings("/pair-remove", method: 4, [.init(.identifier, identifier)])
    }

    /// Throws as `PairAdd`.
    public func accept(_ answer: PairingAnswer) throws(PairingError) { _ = try answer.items(of: .removeM2) }
}

/// Asks which controllers the device knows.
public struct PairList: PairingRung {
    /// Controllers at most that are read: HomeKit wants room for 16.
    public static let maximumCount = 256

    public init() {}

    public var request: PairingRequest { .pairings("/pair-list", method: 5, []) }

    /// Throws as `PairAdd`.
    public func accept(_ answer: PairingAnswer) throws(PairingError) -> [PairedController] {
        let message = PairingMessage.listM2
        var controllers: [PairedController] = []
        var identifier: [UInt8]?
        var rest = TLV8()
        func close() throws(PairingError) {
            guard let name = identifier else { return }
            guard controllers.count < Self.maximumCount else {
                throw .wrongLength(controllers.count + 1, at: message)
            }
            controllers.append(
                PairedController(
                    identifier: name, publicKey: try rest.value(.publicKey, count: 32, of: message),
                    isAdmin: (rest.byte(.permissions) ?? 0) & 1 == 1))
        }
        // An identifier begins the next controller, whether a separator stands before it or not.
        for item in try answer.items(of: message).items {
            switch item.tag {
            case .identifier:
                try close()
                guard (1...255).contains(item.value.count) else {
                    throw .wrongLength(item.value.count, at: message)
                }
                identifier = item.value
                rest = TLV8()
            case .publicKey, .permissions: rest.items.append(item)
            default: break
            }
        }
        try close()
        return controllers
    }
}

extension PairingRequest {
    fileprivate static func pairings(_ path: String, method: UInt8, _ items: [TLV8.Item]) -> PairingRequest {
        let all = [TLV8.Item(.state, [1]), TLV8.Item(.method, [method])] + items
        return PairingRequest(path: path, hkp: 3, body: .octets(TLV8(all).encoded()))
    }
}
