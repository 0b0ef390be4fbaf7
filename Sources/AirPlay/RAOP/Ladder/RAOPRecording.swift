/// Set up: ports are known on both sides.
public struct RAOPReady: Sendable {
    let parameters: RAOPSessionParameters
    let session: String?
    public let ports: RAOPPorts

    /// RECORD, with the first packet to come.
    public func record(sequence: UInt16, timestamp: UInt32) -> RAOPRecord {
        RAOPRecord(self, info: RTPInfo(sequence: sequence, timestamp: timestamp))
    }

    var requests: RAOPSessionRequests { RAOPSessionRequests(parameters: parameters, session: session) }
}

/// RECORD: audio may flow.
public struct RAOPRecord: Sendable {
    private let ready: RAOPReady
    public let request: RTSPRequest

    fileprivate init(_ ready: RAOPReady, info: RTPInfo) {
        self.ready = ready
        request = ready.requests.request("RECORD", headers: ["Range": "npt=0-", "RTP-Info": info.text])
    }

    public func accept(_ response: RTSPResponse) throws(RAOPError) -> RAOPRecording {
        if let error = RAOPError(method: request.method, response: response) { throw error }
        let latency = response.headers["Audio-Latency"].flatMap { Int($0.trimmed) } ?? 0
        return RAOPRecording(requests: ready.requests, audioLatency: (0...441_000).contains(latency) ? latency : 0)
    }
}

/// The top rung: audio may flow, and these requests may come in any order.
public struct RAOPRecording: Sendable {
    public let requests: RAOPSessionRequests
    /// Frames that the device adds to the latency that sync packets say.
    public let audioLatency: Int

    /// FLUSH: forget what you have; `info` is the next packet to come.
    public func flush(_ info: RTPInfo) -> RTSPRequest {
        requests.request("FLUSH", headers: ["RTP-Info": info.text])
    }

    /// Titles, from the frame `timestamp` on.
    public func metadata(_ track: RAOPTrackMetadata, timestamp: UInt32) -> RTSPRequest {
        requests.request(
            "SET_PARAMETER", headers: ["RTP-Info": RTPInfo(timestamp: timestamp).text],
            contentType: RAOPTrackMetadata.contentType, body: track.item.encoded())
    }

    /// A picture, from the frame `timestamp` on; `image/none` and no bytes take it away.
    public func artwork(mimeType: String, bytes: [UInt8], timestamp: UInt32) -> RTSPRequest {
        requests.request(
            "SET_PARAMETER", headers: ["RTP-Info": RTPInfo(timestamp: timestamp).text], contentType: mimeType,
            body: bytes)
    }

    /// Where the item begins, is and ends, in RTP time.
    public func progress(start: UInt32, now: UInt32, end: UInt32) -> RTSPRequest {
        requests.setParameter(.progress(start: start, now: now, end: end))
    }
}

/// The requests that any session takes, before and while it plays.
public struct RAOPSessionRequests: Sendable {
    let parameters: RAOPSessionParameters
    let session: String?

    func request(
        _ method: String, uri: String? = nil, headers: RTSPHeaders = [:], contentType: String? = nil, body: [UInt8] = []
    ) -> RTSPRequest {
        var headers = headers
        if let session { headers["Session"] = session }
        return parameters.request(method, uri: uri, headers: headers, contentType: contentType, body: body)
    }

    public func setParameter(_ parameters: TextParameters) -> RTSPRequest {
        request("SET_PARAMETER", contentType: TextParameters.contentType, body: parameters.body)
    }

    public func volume(_ value: Double) -> RTSPRequest { setParameter(.volume(value)) }

    public func queryVolume() -> RTSPRequest {
        request("GET_PARAMETER", contentType: TextParameters.contentType, body: TextParameters("volume", "").body)
    }

    /// Nothing but a sign of life.
    public func keepAlive() -> RTSPRequest { request("OPTIONS", uri: "*") }

    /// The sign of life that Apple's newer devices look for.
    public func feedback() -> RTSPRequest { request("POST", uri: "/feedback") }

    public func teardown() -> RTSPRequest { request("TEARDOWN") }
}
