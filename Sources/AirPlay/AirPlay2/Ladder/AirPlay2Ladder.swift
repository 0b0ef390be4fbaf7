/// One rung: a request, and what its answer leads to. It can only be had from the rung before it, so that a wrong order
/// does not compile.
public struct AirPlay2Rung<Next: Sendable>: Sendable {
    public let request: RTSPRequest
    private let next: @Sendable (RTSPResponse) throws(AirPlay2Error) -> Next

    init(_ request: RTSPRequest, next: @escaping @Sendable (RTSPResponse) throws(AirPlay2Error) -> Next) {
        self.request = request
        self.next = next
    }

    /// Throws for an answer that refuses, or can't be read.
    public func accept(_ response: RTSPResponse) throws(AirPlay2Error) -> Next {
        if let error = AirPlay2Error(method: request.method, response: response) { throw error }
        return try next(response)
    }
}

/// The ladder's foot: nothing is known of the receiver (`Protocols/airplay/README.md`, “AirPlay 2 session”).
public struct AirPlay2Introduction: Sendable {
    public let parameters: AirPlay2SessionParameters

    public init(_ parameters: AirPlay2SessionParameters) { self.parameters = parameters }

    /// `GET /info`. It is asked in the clear, before any pairing.
    public var info: AirPlay2Rung<AirPlay2Introduced> {
        let parameters = parameters
        var request = parameters.request("GET", uri: "/info")
        request.version = parameters.spelling.version
        return AirPlay2Rung(request) { (response) throws(AirPlay2Error) in
            let info: AirPlay2Info = try decode(response, of: "GET")
            return AirPlay2Introduced(parameters: parameters, info: info)
        }
    }
}

/// The receiver has said what it is. Pairing comes next; it is a ladder of its own, in `HomeKitPairing`.
public struct AirPlay2Introduced: Sendable {
    let parameters: AirPlay2SessionParameters
    public let info: AirPlay2Info

    /// The pairing is done, or the receiver wants none.
    public var admitted: AirPlay2Admitted { AirPlay2Admitted(parameters: parameters) }
}

/// Let in.
public struct AirPlay2Admitted: Sendable {
    let parameters: AirPlay2SessionParameters

    /// The first SETUP.
    public func setUp(_ session: AirPlay2SessionSetup) -> AirPlay2Rung<AirPlay2SessionReady> {
        let parameters = parameters
        return AirPlay2Rung(parameters.request("SETUP", session)) { (response) throws(AirPlay2Error) in
            let answer: AirPlay2SessionAnswer = try decode(response, of: "SETUP")
            return AirPlay2SessionReady(
                requests: AirPlay2SessionRequests(parameters: parameters), answer: answer)
        }
    }
}

/// There is a session. The event channel is to be opened now, and the clocks' peers to be told.
public struct AirPlay2SessionReady: Sendable {
    public let requests: AirPlay2SessionRequests
    public let answer: AirPlay2SessionAnswer

    /// RECORD before the streams, as Apple's senders do: Samsung's TVs stay silent otherwise.
    public var record: AirPlay2Rung<AirPlay2Recording> {
        let requests = requests
        return AirPlay2Rung(requests.record) { (response) throws(AirPlay2Error) in
            AirPlay2Recording(requests: requests, audioLatency: audioLatency(response))
        }
    }

    /// A stream before RECORD.
    public func setUp(_ streams: AirPlay2StreamSetup) -> AirPlay2Rung<AirPlay2StreamReady> {
        let requests = requests
        return AirPlay2Rung(requests.setUp(streams)) { (response) throws(AirPlay2Error) in
            let answer: AirPlay2StreamAnswer = try decode(response, of: "SETUP")
            return AirPlay2StreamReady(requests: requests, answer: answer)
        }
    }
}

/// A stream is there, and RECORD is still to come.
public struct AirPlay2StreamReady: Sendable {
    public let requests: AirPlay2SessionRequests
    public let answer: AirPlay2StreamAnswer

    public var record: AirPlay2Rung<AirPlay2Recording> {
        let requests = requests
        return AirPlay2Rung(requests.record) { (response) throws(AirPlay2Error) in
            AirPlay2Recording(requests: requests, audioLatency: audioLatency(response))
        }
    }
}

/// The top: streams come and go, and the requests of a session are taken in any order.
public struct AirPlay2Recording: Sendable {
    public let requests: AirPlay2SessionRequests
    /// Frames that the device adds by itself, where it says so; else 0.
    public let audioLatency: Int

    public func setUp(_ streams: AirPlay2StreamSetup) -> AirPlay2Rung<AirPlay2StreamAnswer> {
        AirPlay2Rung(requests.setUp(streams)) { (response) throws(AirPlay2Error) in
            try decode(response, of: "SETUP")
        }
    }
}

private func audioLatency(_ response: RTSPResponse) -> Int {
    let latency = response.headers["Audio-Latency"].flatMap { Int($0.trimmed) } ?? 0
    return (0...441_000).contains(latency) ? latency : 0
}

private func decode<Message: AirPlay2Message>(
    _ response: RTSPResponse, of method: String
) throws(AirPlay2Error) -> Message {
    do { return try Message(body: response.body) } catch { throw .malformedAnswer(method: method, error) }
}
