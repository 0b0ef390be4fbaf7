/// What a receiver says that it is able to do.
public struct CastStreamingCapabilities: Sendable, Hashable {
    /// `audio`, `aac`, `opus`, `video`, `4k`, `h264`, `vp8`, `vp9`, `hevc`, `av1`.
    public var media: Set<String>
    /// The version of remoting; nil where it is not said.
    public var remoting: Int?

    public init(media: Set<String>, remoting: Int? = nil) {
        self.media = media
        self.remoting = remoting
    }

    init(json: CastJSON) {
        media = Set(json["mediaCaps"].elements.prefix(64).compactMap { $0.string?.lowercased() })
        remoting = json["remoting"].int
    }

    var json: CastJSON {
        var object: [String: CastJSON] = ["mediaCaps": .array(media.sorted().map(CastJSON.string))]
        object.put("remoting", remoting)
        return .object(object)
    }
}

/// A message of the namespace `webrtc`, of either side (`Protocols/cast` section 12).
public struct CastStreamingMessage: Sendable, Hashable {
    public enum Body: Sendable, Hashable {
        case getCapabilities
        case capabilities(CastStreamingCapabilities)
        case offer(CastOffer)
        case answer(CastAnswer)
        /// An ANSWER that says no, or makes no sense.
        case noAnswer(CastAnswerError)
        /// What some devices show while they play.
        case presentation(title: String, icons: [String])
        /// Of a type that nothing here handles, or one that failed.
        case other(type: String?)
    }

    /// Pairs an answer with what it answers; these messages have no request id. Nil where it is missing or negative.
    public var sequence: Int?
    public var body: Body

    public init(sequence: Int?, _ body: Body) {
        self.sequence = sequence
        self.body = body
    }

    /// Nil where it is no JSON object.
    public init?(text: String) {
        guard let json = CastJSON(text: text), json.object != nil else { return nil }
        self.init(json: json)
    }

    /// Never fails: what is not understood is `other`.
    public init(json: CastJSON) {
        sequence = json["seqNum"].int.flatMap { $0 >= 0 ? $0 : nil }
        let type = json["type"].string?.uppercased()
        switch type {
        case "GET_CAPABILITIES": body = .getCapabilities
        case "CAPABILITIES_RESPONSE" where json["capabilities"].object != nil:
            body = .capabilities(CastStreamingCapabilities(json: json["capabilities"]))
        case "OFFER": body = .offer(CastOffer(json: json["offer"]))
        case "ANSWER": body = Self.answer(json)
        case "PRESENTATION":
            let icons = json["icons"].elements.prefix(16).compactMap { $0["url"].string }
            body = .presentation(title: json["title"].string ?? "", icons: icons)
        default: body = .other(type: type)
        }
    }

    private static func answer(_ json: CastJSON) -> Body {
        // Some devices leave `result` out; what then has an answer means yes.
        let result = json["result"].string?.lowercased() ?? (json["answer"].object == nil ? "error" : "ok")
        guard result == "ok" else {
            let error = json["error"]
            return .noAnswer(
                .refused(code: error["code"].int, description: error["description"].string ?? error.string))
        }
        do {
            return .answer(try CastAnswer(json: json["answer"]))
        } catch {
            return .noAnswer(error)
        }
    }

    public var json: CastJSON {
        var object: [String: CastJSON] = [:]
        object.put("seqNum", sequence)
        switch body {
        case .getCapabilities: object["type"] = "GET_CAPABILITIES"
        case .capabilities(let capabilities):
            object["type"] = "CAPABILITIES_RESPONSE"
            object["result"] = "ok"
            object["capabilities"] = capabilities.json
        case .offer(let offer):
            object["type"] = "OFFER"
            object["offer"] = offer.json
        case .answer(let answer):
            object["type"] = "ANSWER"
            object["result"] = "ok"
            object["answer"] = answer.json
        case .noAnswer(let error):
            object["type"] = "ANSWER"
            object["result"] = "error"
            var fields: [String: CastJSON] = [:]
            if case .refused(let code, let description) = error {
                fields.put("code", code)
                fields.put("description", description)
            } else {
                fields.put("description", error.description)
            }
            object["error"] = .object(fields)
        case .presentation(let title, let icons):
            object["type"] = "PRESENTATION"
            object["title"] = .string(title)
            object["icons"] = .array(icons.map { ["url": .string($0)] })
        case .other(let type): object.put("type", type)
        }
        return .object(object)
    }
}
