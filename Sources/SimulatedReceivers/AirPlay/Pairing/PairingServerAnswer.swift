import AirPlay
import HomeKitPairing

/// What a pairing request is answered with.
public struct PairingServerAnswer: Sendable, Hashable {
    public enum Delivery: Sendable, Hashable {
        case send
        /// Nothing is answered and the connection stays: a fault.
        case never
        /// The connection ends without an answer: a fault.
        case hangUp
    }

    public var status: Int
    /// Without `Content-Length` and `CSeq`, which are whoever sends it's own.
    public var headers: RTSPHeaders
    public var body: [UInt8]
    /// What the keys of the control channel are made of (`ChannelKeys.control`): from the first byte after this answer
    /// on, both directions are encrypted. Nil where the channel stays as it is. Secret.
    public var secretEstablished: [UInt8]?
    public var delivery = Delivery.send
    /// What there is to tell of it, in order.
    public var news: [PairingServerNews] = []

    /// Of the start line.
    public var reason: String {
        let reasons = [
            200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
            413: "Payload Too Large", 470: "Connection Authorization Required", 500: "Internal Server Error",
        ]
        return reasons[status] ?? "Refused"
    }

    static func status(_ status: Int, _ news: PairingServerNews...) -> PairingServerAnswer {
        PairingServerAnswer(status: status, headers: [:], body: [], news: news)
    }

    static func binary(_ body: [UInt8], _ news: PairingServerNews...) -> PairingServerAnswer {
        PairingServerAnswer(
            status: 200, headers: ["Content-Type": "application/octet-stream"], body: body, news: news)
    }

    static func items(_ items: TLV8.Item...) -> PairingServerAnswer { .binary(TLV8(items).encoded()) }

    static func list(_ list: PropertyList) -> PairingServerAnswer {
        PairingServerAnswer(
            status: 200, headers: ["Content-Type": "application/x-apple-binary-plist"], body: list.encoded())
    }

    /// An error as HomeKit pairing has them: in an answer that is 200.
    static func error(_ error: PairingServerError, state: UInt8, retryAfter delay: Int? = nil) -> PairingServerAnswer {
        var items = [TLV8.Item(.state, [state]), TLV8.Item(.error, [error.rawValue])]
        if let delay { items.append(TLV8.Item(.retryDelay, delay.littleEndian)) }
        return .binary(TLV8(items).encoded(), .failed(error))
    }
}

/// The values of TLV8 type 7.
public struct PairingServerError: RawRepresentable, Sendable, Hashable {
    public var rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let unknown = PairingServerError(rawValue: 1)
    public static let authentication = PairingServerError(rawValue: 2)
    public static let backOff = PairingServerError(rawValue: 3)
    public static let tooManyPeers = PairingServerError(rawValue: 4)
    public static let tooManyTries = PairingServerError(rawValue: 5)
    public static let unavailable = PairingServerError(rawValue: 6)
    public static let busy = PairingServerError(rawValue: 7)
}

/// Something about pairing that a receiver tells of, in `events` and journal.
public enum PairingServerNews: Sendable, Hashable {
    /// The code on its screen: the one place where it is told.
    case showsCode(String)
    case hidesCode
    /// A wrong code, password or key; how many of them there were since the last right one.
    case wrongCode(tries: Int)
    /// A controller that it knows from now on.
    case paired(String)
    case pairedForConnection
    case verified(String)
    /// Controllers that it knows no more: their other connections are to be closed.
    case removed([String])
    case failed(PairingServerError)

    /// As `SimulatedReceiverEvent` has it.
    public var event: (word: String, details: [String: JSONValue]) {
        switch self {
        case .showsCode(let code): ("showsCode", ["code": .string(code)])
        case .hidesCode: ("hidesCode", [:])
        case .wrongCode(let tries): ("wrongCode", ["tries": .integer(tries)])
        case .paired(let controller): ("paired", ["controller": .string(controller)])
        case .pairedForConnection: ("pairedForConnection", [:])
        case .verified(let controller): ("verified", ["controller": .string(controller)])
        case .removed(let controllers): ("unpaired", ["controllers": .array(controllers.map { .string($0) })])
        case .failed(let error): ("pairingFailed", ["error": .integer(Int(error.rawValue))])
        }
    }
}

extension Int {
    /// As few bytes as it takes, at least one. Below zero counts as zero.
    fileprivate var littleEndian: [UInt8] {
        var bytes: [UInt8] = []
        var rest = Swift.max(0, self)
        repeat {
            bytes.append(UInt8(rest & 0xFF))
            rest >>= 8
        } while rest > 0
        return bytes
    }
}
