import HomeKitPairing
import RouteModel

/// How this sender names itself in an AirPlay 2 session: the same in every one, so that devices take it for one sender.
struct AirPlaySender: Sendable {
    /// A MAC address with colons, of the kind that no maker gives out.
    var deviceID: String
    /// A UUID.
    var identifier: String

    init(identity: InstallationIdentity?) {
        identifier = identity?.identifier ?? Self.uuid()
        var bytes = Array(PairingCrypto.sha512(Array("AirPlay device \(identifier)".utf8)).prefix(6))
        // Locally administered, and of one device.
        bytes[0] = bytes[0] & 0xFC | 0x02
        deviceID = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: ":")
    }

    /// A random one, in upper case.
    static func uuid() -> String {
        var bytes = PairingCrypto.random(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }
        return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { digits[$0].joined() }.joined(separator: "-")
    }
}
