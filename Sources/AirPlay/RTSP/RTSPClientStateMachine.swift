/// One sender's side of a connection: numbers RTSP requests, keeps them in order with one under way at a time, and answers
/// challenges. No I/O.
///
/// Answers are taken in order and their `CSeq` is not looked at: some receivers get it wrong.
public struct RTSPClientStateMachine: Sendable {
    /// What to do with an answer.
    public enum Action: Sendable, Hashable {
        /// Hand it to who asked.
        case complete(RTSPResponse)
        /// Send this; it is the same request, signed.
        case send(RTSPRequest)
        /// Tell who asked.
        case fail(RAOPError)
        /// It answers nothing.
        case ignore
    }

    /// How receivers differ in what they want of a digest.
    private enum SigningStyle: CaseIterable {
        case plain
        /// The first AirPort Express: a user name, and hex digits in upper case.
        case airPortExpress
    }

    private let password: String?
    private var nextCSeq = 1
    private var current: RTSPRequest?
    private var waiting: [RTSPRequest] = []
    private var challenge: DigestChallenge?
    private var style = SigningStyle.plain
    /// The receiver has taken a signature of this style, so that another 401 means a new nonce.
    private var proven = false
    private var stylesTried: Set<SigningStyle> = []

    public init(password: String?) { self.password = password }

    public var isBusy: Bool { current != nil }

    /// A request to make: what to send now, or nil while another is under way.
    public mutating func submit(_ request: RTSPRequest) -> RTSPRequest? {
        guard current == nil else {
            waiting.append(request)
            return nil
        }
        return begin(request)
    }

    /// An answer came. After `complete` and `fail`, ask `next` for the request that waits.
    public mutating func receive(_ response: RTSPResponse) -> Action {
        guard let request = current, response.status >= 200 else { return .ignore }
        guard response.status == 401 else {
            if challenge != nil { proven = true }
            current = nil
            return .complete(response)
        }
        return answer(request, response)
    }

    /// The request that waits, if none is under way.
    public mutating func next() -> RTSPRequest? {
        guard current == nil, !waiting.isEmpty else { return nil }
        return begin(waiting.removeFirst())
    }

    private mutating func begin(_ request: RTSPRequest) -> RTSPRequest {
        current = request
        stylesTried = challenge == nil ? [] : [style]
        return numbered(request)
    }

    private mutating func answer(_ request: RTSPRequest, _ response: RTSPResponse) -> Action {
        let offered = response.headers.all("WWW-Authenticate").compactMap(DigestChallenge.init(parsing:)).first
        guard password != nil, let offered else {
            current = nil
            return .fail(password == nil ? .passwordRequired : .passwordRefused)
        }
        if proven, offered != challenge {
            // The receiver has dealt a new nonce. Whether it takes the style again is still to be shown.
            proven = false
            stylesTried = [style]
        } else if let untried = SigningStyle.allCases.first(where: { !stylesTried.contains($0) }) {
            style = untried
            stylesTried.insert(untried)
        } else {
            current = nil
            return .fail(.passwordRefused)
        }
        challenge = offered
        return .send(numbered(request))
    }

    private mutating func numbered(_ request: RTSPRequest) -> RTSPRequest {
        var request = request
        if request.version == .rtsp1 {
            request.headers["CSeq"] = String(nextCSeq)
            nextCSeq += 1
        }
        if let challenge, let password {
            let authorization = DigestAuthorization(
                challenge: challenge, user: style == .airPortExpress ? "iTunes" : "", password: password,
                method: request.method, uri: request.uri, uppercase: style == .airPortExpress)
            request.headers["Authorization"] = authorization.text
        }
        return request
    }
}
