/// One request of a pairing (`Protocols/pairing/README.md`, “Requests”): always a POST. Whether it is spelled as RTSP or
/// as HTTP, and what else its header says, is up to the transport.
public struct PairingRequest: Sendable, Hashable {
    /// From the root, such as `/pair-setup`.
    public var path: String
    /// What `X-Apple-HKP` says: 3 for HomeKit pairing, 4 for the transient one; nil where the field is left out.
    public var hkp: Int?
    public var body: PairingBody

    public init(path: String, hkp: Int? = nil, body: PairingBody = .none) {
        self.path = path
        self.hkp = hkp
        self.body = body
    }

    /// What `Content-Type` says; nil where there is no body.
    public var contentType: String? {
        switch body {
        case .none: nil
        case .octets: "application/octet-stream"
        case .dictionary: "application/x-apple-binary-plist"
        }
    }
}

/// The answer to one request.
public struct PairingAnswer: Sendable, Hashable {
    /// 100 to 599.
    public var status: Int
    public var body: PairingBody

    /// - Parameter body: `dictionary` where the request had one and the answer is a property list; `octets` else.
    public init(status: Int = 200, body: PairingBody = .none) {
        self.status = status
        self.body = body
    }
}

/// What a request or an answer carries.
public enum PairingBody: Sendable, Hashable {
    case none
    case octets([UInt8])
    /// A binary property list with these entries. The transport writes and reads it, and leaves out entries of other
    /// types when it reads.
    case dictionary([String: PairingValue])
}

/// An entry of a property list.
public enum PairingValue: Sendable, Hashable {
    case text(String)
    case data([UInt8])
}

/// One step of a pairing: a request, and what its answer leads to. A rung can only be had from the one before it, so
/// that a wrong order does not compile.
public protocol PairingRung: Sendable {
    associatedtype Next: Sendable

    var request: PairingRequest { get }

    /// What follows. Throws for an answer that refuses, or is not what the protocol has here; the pairing is over
    /// then, and begins anew on the first rung.
    func accept(_ answer: PairingAnswer) throws(PairingError) -> Next
}
