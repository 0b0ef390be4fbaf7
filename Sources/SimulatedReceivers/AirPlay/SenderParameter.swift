import AirPlay

/// What a sender says by SET_PARAMETER, to receivers of either generation (`Protocols/airplay/README.md`,
/// “SET_PARAMETER”).
enum SenderParameter: Sendable, Equatable {
    case volume(Double)
    case metadata(SimulatedRAOPRecord.Metadata)
    /// Nil takes the picture away.
    case artwork(SimulatedRAOPRecord.Artwork?)
    case progress(SimulatedRAOPRecord.Progress)

    /// Why it is refused: the status of the answer.
    struct Refusal: Error, Equatable { var status: Int }

    static func read(_ request: RTSPRequest) throws(Refusal) -> [SenderParameter] {
        let type = request.headers["Content-Type"]?.lowercased() ?? ""
        if type.hasPrefix(TextParameters.contentType) { return try readText(request.body) }
        if type.hasPrefix("application/x-dmap-tagged") {
            guard let items = try? DMAPDecoder().decode(request.body) else { throw Refusal(status: 400) }
            let list = items.first { $0.tag == "mlit" } ?? DMAPItem("mlit", items)
            let time = request.headers["RTP-Info"].flatMap { RTPInfo(parsing: $0).timestamp }
            return [
                .metadata(
                    SimulatedRAOPRecord.Metadata(
                        title: list["minm"]?.text, artist: list["asar"]?.text, album: list["asal"]?.text,
                        rtpTime: time))
            ]
        }
        if type.hasPrefix("image/") {
            let none = type == "image/none" || request.body.isEmpty
            return [.artwork(none ? nil : SimulatedRAOPRecord.Artwork(mimeType: type, bytes: request.body))]
        }
        throw Refusal(status: 451)
    }

    private static func readText(_ body: [UInt8]) throws(Refusal) -> [SenderParameter] {
        let parameters = TextParameters(parsing: body)
        var found: [SenderParameter] = []
        if parameters["volume"] != nil {
            guard let volume = parameters.volume else { throw Refusal(status: 400) }
            found.append(.volume(volume))
        }
        if parameters["progress"] != nil {
            guard let progress = parameters.progress else { throw Refusal(status: 400) }
            found.append(
                .progress(SimulatedRAOPRecord.Progress(start: progress.start, now: progress.now, end: progress.end)))
        }
        return found
    }
}

/// What both generations answer alike.
enum ReceiverAnswer {
    /// GET_PARAMETER: an empty question asks only whether the receiver is still there.
    static func parameters(asked body: [UInt8], volume: Double) -> RTSPResponse {
        guard TextParameters(parsing: body).entries.contains(where: { $0.name == "volume" }) else {
            return RTSPResponse()
        }
        return RTSPResponse(
            headers: ["Content-Type": TextParameters.contentType], body: TextParameters.volume(volume).body)
    }

    static func refusal(_ status: Int) -> RTSPResponse {
        let reasons = [
            400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 406: "Not Acceptable",
            413: "Payload Too Large", 415: "Unsupported Media Type", 451: "Parameter Not Understood",
            453: "Not Enough Bandwidth", 455: "Method Not Valid in This State", 461: "Unsupported Transport",
            470: "Connection Authorization Required", 500: "Internal Server Error", 501: "Not Implemented",
        ]
        return RTSPResponse(status: status, reason: reasons[status] ?? "Refused")
    }
}

/// Asks for a password by a Digest challenge, as often as the faults say.
struct PasswordGate: Sendable {
    let password: String
    let nonce: String
    /// How many right answers are still challenged again.
    var extraChallenges: Int

    /// Nil where the request is let in.
    mutating func challenge(_ request: RTSPRequest) -> RTSPResponse? {
        if let text = request.headers["Authorization"], let given = DigestAuthorization(parsing: text),
            given.nonce == nonce, given.uri == request.uri,
            given.matches(password: password, method: request.method)
        {
            guard extraChallenges > 0 else { return nil }
            extraChallenges -= 1
        }
        var response = ReceiverAnswer.refusal(401)
        response.headers["WWW-Authenticate"] = DigestChallenge(realm: "raop", nonce: nonce).text
        return response
    }
}
