/// The requests that a session takes.
public struct AirPlay2SessionRequests: Sendable, Hashable {
    let parameters: AirPlay2SessionParameters

    var record: RTSPRequest { parameters.request("RECORD") }

    func setUp(_ streams: AirPlay2StreamSetup) -> RTSPRequest { parameters.request("SETUP", streams) }

    /// Who takes part in PTP.
    public func peers(_ peers: AirPlay2PeerList) -> RTSPRequest { parameters.request("SETPEERS", peers) }

    /// The same, of receivers with feature bit 52.
    public func peers(_ peers: AirPlay2ExtendedPeerList) -> RTSPRequest { parameters.request("SETPEERSX", peers) }

    public func rateAnchor(_ anchor: AirPlay2RateAnchor) -> RTSPRequest {
        parameters.request("SETRATEANCHORTIME", anchor)
    }

    public func flushBuffered(_ flush: AirPlay2FlushBuffered) -> RTSPRequest {
        parameters.request("FLUSHBUFFERED", flush)
    }

    /// Of a realtime stream: forget what you have; `next` is the packet to come.
    public func flush(_ next: RTPInfo) -> RTSPRequest {
        parameters.request("FLUSH", headers: ["RTP-Info": next.text])
    }

    /// The sign of life, every 2 s.
    public func feedback() -> RTSPRequest { parameters.request("POST", uri: "/feedback") }

    public func command(_ command: AirPlay2Command) -> RTSPRequest {
        parameters.request("POST", uri: "/command", command)
    }

    public func audioMode(_ mode: AirPlay2AudioMode) -> RTSPRequest {
        parameters.request("POST", uri: "/audioMode", mode)
    }

    public func teardown(_ teardown: AirPlay2Teardown = AirPlay2Teardown()) -> RTSPRequest {
        parameters.request("TEARDOWN", teardown)
    }

    /// - Parameter value: the AirPlay number: −144 mute, else −30 to 0.
    public func volume(_ value: Double) -> RTSPRequest { setParameter(.volume(value)) }

    public func queryVolume() -> RTSPRequest {
        parameters.request(
            "GET_PARAMETER", contentType: TextParameters.contentType, body: TextParameters("volume", "").body)
    }

    /// Where the item begins, is and ends, in RTP time.
    public func progress(start: UInt32, now: UInt32, end: UInt32) -> RTSPRequest {
        setParameter(.progress(start: start, now: now, end: end))
    }

    /// Titles, from the frame `timestamp` on. Sonos is mute until it has some, and looks at `RTP-Info`.
    public func metadata(_ track: RAOPTrackMetadata, timestamp: UInt32) -> RTSPRequest {
        show(RAOPTrackMetadata.contentType, track.item.encoded(), timestamp: timestamp)
    }

    /// A picture, from the frame `timestamp` on; no bytes take it away.
    public func artwork(mimeType: String, bytes: [UInt8], timestamp: UInt32) -> RTSPRequest {
        show(bytes.isEmpty ? "image/none" : mimeType, bytes, timestamp: timestamp)
    }

    private func setParameter(_ values: TextParameters) -> RTSPRequest {
        parameters.request("SET_PARAMETER", contentType: TextParameters.contentType, body: values.body)
    }

    private func show(_ contentType: String, _ body: [UInt8], timestamp: UInt32) -> RTSPRequest {
        parameters.request(
            "SET_PARAMETER", headers: ["RTP-Info": RTPInfo(timestamp: timestamp).text], contentType: contentType,
            body: body)
    }
}
