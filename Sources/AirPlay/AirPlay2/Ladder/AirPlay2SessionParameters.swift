/// What a sender says of itself in every request.
public struct AirPlay2SessionParameters: Sendable, Hashable {
    /// Names the session in the URL.
    public var sessionID: UInt32
    /// Numeric, without an IPv6 scope.
    public var senderAddress: String
    public var receiverAddress: String
    public var userAgent: String
    /// 64 bits as 16 hex digits.
    public var dacpID: String
    /// What a receiver must say when it sends remote commands.
    public var activeRemote: UInt32
    public var clientName: String?
    /// How requests before the encryption are written.
    public var spelling: RTSPSpelling

    public init(
        sessionID: UInt32, senderAddress: String, receiverAddress: String, userAgent: String = "AirPlay/670.6.2",
        dacpID: String, activeRemote: UInt32, clientName: String? = nil, spelling: RTSPSpelling = .rtsp
    ) {
        self.sessionID = sessionID
        self.senderAddress = senderAddress
        self.receiverAddress = receiverAddress
        self.userAgent = userAgent
        self.dacpID = dacpID
        self.activeRemote = activeRemote
        self.clientName = clientName
        self.spelling = spelling
    }

    public var url: String {
        let host = senderAddress.contains(":") ? "[\(senderAddress)]" : senderAddress
        return "rtsp://\(host)/\(sessionID)"
    }

    /// The same for what goes by RTSP in any case.
    var inRTSP: AirPlay2SessionParameters {
        var parameters = self
        parameters.spelling = .rtsp
        return parameters
    }

    /// A request with the fields that all have; `CSeq` and `Authorization` are the connection's.
    func request(
        _ method: String, uri: String? = nil, headers: RTSPHeaders = [:], contentType: String? = nil,
        body: [UInt8] = []
    ) -> RTSPRequest {
        var all: RTSPHeaders = [
            "User-Agent": userAgent, "Client-Instance": dacpID, "DACP-ID": dacpID,
            "Active-Remote": String(activeRemote), "X-Apple-ProtocolVersion": "1",
        ]
        if let clientName { all["X-Apple-Client-Name"] = clientName }
        for field in headers.fields { all[field.name] = field.value }
        if let contentType { all["Content-Type"] = contentType }
        return RTSPRequest(method: method, uri: uri ?? url, headers: all, body: body)
    }

    func request(_ method: String, uri: String? = nil, _ message: some AirPlay2Message) -> RTSPRequest {
        request(method, uri: uri, contentType: PropertyList.contentType, body: message.body)
    }

    /// A request of a pairing, in the spelling that this receiver takes.
    ///
    /// - Parameter hkp: what `X-Apple-HKP` says.
    func pairingRequest(_ path: String, hkp: Int?, contentType: String?, body: [UInt8]) -> RTSPRequest {
        var request = request("POST", uri: path, contentType: contentType, body: body)
        if let hkp { request.headers["X-Apple-HKP"] = String(hkp) }
        request.version = spelling.version
        if spelling == .http {
            let host = receiverAddress.contains(":") ? "[\(receiverAddress)]" : receiverAddress
            request.headers["Host"] = host
            request.headers["Connection"] = "keep-alive"
        }
        return request
    }
}
