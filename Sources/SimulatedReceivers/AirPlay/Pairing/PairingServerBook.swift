import Foundation
import HomeKitPairing

/// What a simulated receiver knows of pairing across connections: who it is, who is paired, what its screen shows, and
/// how often somebody guessed wrong.
public struct PairingServerBook: Sendable {
    /// Somebody who may come by pair-verify.
    public struct Controller: Codable, Sendable, Hashable {
        /// Up to 64 bytes of UTF-8; a UUID as a rule.
        public var identifier: String
        /// Of Ed25519, 32 bytes.
        public var publicKey: [UInt8]
        /// May add, list and remove controllers.
        public var isAdmin: Bool

        public init(identifier: String, publicKey: [UInt8], isAdmin: Bool = true) {
            self.identifier = identifier
            self.publicKey = publicKey
            self.isAdmin = isAdmin
        }
    }

    /// Its pairing identifier, `pi` in records and /info: a UUID in lower case.
    public let identifier: String
    public let key: SigningKey
    /// In the order in which they came.
    public private(set) var controllers: [Controller] = []
    /// Ed25519 keys that the older pairing registered, 32 bytes each.
    public private(set) var legacyKeys: [[UInt8]] = []
    /// What its screen shows.
    public internal(set) var code: String?
    /// Wrong codes since the last right one.
    public private(set) var wrongTries = 0

    /// Nobody may try before, in host nanoseconds.
    private var closedUntil: Int64?
    /// The connection that pairs with a code, and since when.
    private var pairing: (connection: ConnectionID, since: Int64)?
    private var faults: [PairingServerStep: Int] = [:]

    /// Keys of the older pairing at most; the oldest goes.
    static let maximumLegacyKeys = 64
    /// How long a pairing that does not go on keeps others waiting.
    static let patience: Int64 = 60_000_000_000

    final class ConnectionID: Sendable, Hashable {
        static func == (left: ConnectionID, right: ConnectionID) -> Bool { left === right }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }

    public init(
        identifier: String, key: SigningKey, controllers: [Controller] = [], legacyKeys: [[UInt8]] = []
    ) {
        self.identifier = identifier
        self.key = key
        self.controllers = controllers
        self.legacyKeys = legacyKeys
    }

    /// The book of the device of that name, the same at every start: nothing that a name gives is a secret, which a
    /// device that stands for another need not have.
    public init(name: String) {
        let digest = PairingCrypto.sha512(Array("router simulated receiver \(name)".utf8))
        let bytes = Array(digest[32..<48])
        let uuid = UUID(
            uuid: (
                bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6] & 0x0F | 0x40, bytes[7],
                bytes[8] & 0x3F | 0x80, bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
            ))
        self.init(
            identifier: uuid.uuidString.lowercased(), key: SigningKey(seed: Array(digest.prefix(32))))
    }

    public func controller(_ identifier: String) -> Controller? {
        controllers.first { $0.identifier == identifier }
    }

    /// Somebody who is known from now on, as one whom a home brought here. A controller of the same identifier is
    /// replaced.
    public mutating func add(_ controller: Controller) {
        if let index = controllers.firstIndex(where: { $0.identifier == controller.identifier }) {
            controllers[index] = controller
        } else {
            controllers.append(controller)
        }
    }

    /// Forgets a controller, and all of them where no admin is left. Answers who is known no more.
    @discardableResult
    public mutating func remove(_ identifier: String) -> [String] {
        guard let index = controllers.firstIndex(where: { $0.identifier == identifier }) else { return [] }
        controllers.remove(at: index)
        guard !controllers.contains(where: \.isAdmin) else { return [identifier] }
        let others = controllers.map(\.identifier)
        controllers = []
        return [identifier] + others
    }

    mutating func addLegacy(_ key: [UInt8]) {
        legacyKeys.removeAll { $0 == key }
        legacyKeys.append(key)
        if legacyKeys.count > Self.maximumLegacyKeys { legacyKeys.removeFirst() }
    }

    /// Somebody switches it off and on: pairings stay, wrong tries are forgotten and the screen is empty.
    public mutating func restart() {
        code = nil
        wrongTries = 0
        closedUntil = nil
        pairing = nil
        faults = [:]
    }

    // MARK: Tries

    /// Why nobody may try a code now; the seconds to wait go with back-off. Nil lets it be tried.
    func closed(_ policy: PairingServerPolicy, at now: Int64) -> (error: PairingServerError, delay: Int?)? {
        if let maximum = policy.maximumTries, wrongTries >= maximum { return (.tooManyTries, nil) }
        guard let closedUntil, closedUntil > now else { return nil }
        return (.backOff, Int((closedUntil - now + 999_999_999) / 1_000_000_000))
    }

    mutating func countWrongTry(_ policy: PairingServerPolicy, at now: Int64) {
        wrongTries += 1
        if let seconds = policy.backOff.prefix(wrongTries).last, seconds > 0 {
            closedUntil = now + Int64(seconds) * 1_000_000_000
        }
    }

    mutating func countRightTry() {
        wrongTries = 0
        closedUntil = nil
    }

    /// Whether this connection may pair with a code now: only one does at a time.
    mutating func claim(_ connection: ConnectionID, at now: Int64) -> Bool {
        if let pairing, pairing.connection != connection, now - pairing.since < Self.patience { return false }
        pairing = (connection, now)
        return true
    }

    mutating func release(_ connection: ConnectionID) {
        if pairing?.connection == connection { pairing = nil }
    }

    // MARK: Faults

    func isDue(_ fault: PairingServerFault, at step: PairingServerStep) -> Bool {
        faults[step, default: 0] < fault.times
    }

    mutating func count(_ fault: PairingServerFault, at step: PairingServerStep) { faults[step, default: 0] += 1 }
}
