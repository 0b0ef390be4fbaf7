import HomeKitPairing

extension PairingRequest {
    /// The request on the wire (`Protocols/pairing/README.md`, “Requests”); `CSeq` is the connection's.
    ///
    /// - Parameters:
    ///   - version: devices of the legacy pairing are not of one mind: some take RTSP only, some HTTP only.
    ///   - headers: what the sender says of itself in every request.
    public func rtsp(_ version: RTSPVersion = .rtsp1, headers: RTSPHeaders = [:]) -> RTSPRequest {
        var headers = headers
        if let hkp { headers["X-Apple-HKP"] = String(hkp) }
        headers["Content-Type"] = contentType
        return RTSPRequest(method: "POST", uri: path, version: version, headers: headers, body: body.bytes)
    }
}

extension PairingAnswer {
    /// The answer to `request`. A body that is no property list, where there should be one, stays bytes: the rung
    /// says what is wrong with it.
    public init(_ response: RTSPResponse, to request: PairingRequest) {
        self.init(status: response.status, body: PairingBody(response.body, like: request.body))
    }
}

extension PairingBody {
    fileprivate var bytes: [UInt8] {
        switch self {
        case .none: []
        case .octets(let bytes): bytes
        case .dictionary(let entries):
            PropertyList.dictionary(
                entries.mapValues { value in
                    switch value {
                    case .text(let text): .string(text)
                    case .data(let bytes): .data(bytes)
                    }
                }
            ).encoded()
        }
    }

    fileprivate init(_ bytes: [UInt8], like request: PairingBody) {
        guard !bytes.isEmpty else {
            self = .none
            return
        }
        guard case .dictionary = request, case .dictionary(let entries) = try? PropertyList(parsing: bytes) else {
            self = .octets(bytes)
            return
        }
        self = .dictionary(
            entries.compactMapValues { value in
                switch value {
                case .string(let text): .text(text)
                case .data(let bytes): .data(bytes)
                default: nil
                }
            })
    }
}
