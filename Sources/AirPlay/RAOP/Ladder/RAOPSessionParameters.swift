/// What a sender says of itself in every request, and what it wants.
public struct RAOPSessionParameters: Sendable, Hashable {
    /// Names the session in the URL.
    public var sessionID: UInt32
    /// Numeric, without an IPv6 scope.
    public var senderAddress: String
    public var receiverAddress: String
    public var codec: RAOPSessionDescription.Codec
    /// With RSA: the wrapped key.
    public var encryption: RAOPSessionDescription.RSAEncryption?
    public var needsAuthSetup: Bool
    public var userAgent: String
    /// 64 bits as 16 hex digits.
    public var dacpID: String
    /// What a receiver must say when it sends remote commands.
    public var activeRemote: UInt32
    public var clientName: String?

    public init(
        sessionID: UInt32, senderAddress: String, receiverAddress: String, codec: RAOPSessionDescription.Codec,
        encryption: RAOPSessionDescription.RSAEncryption? = nil, needsAuthSetup: Bool = false,
        userAgent: String = "AirPlay/550.10", dacpID: String, activeRemote: UInt32, clientName: String? = nil
    ) {
        self.sessionID = sessionID
        self.senderAddress = senderAddress
        self.receiverAddress = receiverAddress
        self.codec = codec
        self.encryption = encryption
        self.needsAuthSetup = needsAuthSetup
        self.userAgent = userAgent
        self.dacpID = dacpID
        self.activeRemote = activeRemote
        self.clientName = clientName
    }

    public var url: String {
        let host = senderAddress.contains(":") ? "[\(senderAddress)]" : senderAddress
        return "rtsp://\(host)/\(sessionID)"
    }

    /// A request with the fields that all have; `CSeq` and `Authorization` are the connection's.
    func request(
        _ method: String, uri: String? = nil, headers: RTSPHeaders = [:], contentType: String? = nil,
        body: [UInt8] = []
    ) -> RTSPRequest {
        var all: RTSPHeaders = [
            "User-Agent": userAgent, "Client-Instance": dacpID, "DACP-ID": dacpID,
            "Active-Remote": String(activeRemote),
        ]
        if let clientName { all["X-Apple-Client-Name"] = clientName }
        for field in headers.fields { all[field.name] = field.value }
        if let contentType { all["Content-Type"] = contentType }
        return RTSPRequest(method: method, uri: uri ?? url, headers: all, body: body)
    }
}
