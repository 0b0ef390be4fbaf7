/// Why a receiver could not play: LOAD_FAILED and ERROR (`Protocols/cast` section 7).
public struct CastMediaFailure: Sendable, Hashable {
    /// `detailedErrorCode`.
    public var code: Int?
    public var reason: String?
    /// The queue item that it is about.
    public var itemID: Int?
    /// `playerErrorCode`: what the app's player says by its own numbers.
    public var playerCode: Int?
    public var severity: Int?
    public var customData: CastJSON?

    public init(code: Int? = nil, reason: String? = nil) {
        self.code = code
        self.reason = reason
    }

    init(json: CastJSON) {
        code = json["detailedErrorCode"].int ?? json["customData"]["detailedErrorCode"].int
        reason = json["reason"].string
        itemID = json["itemId"].int
        playerCode = json["playerErrorCode"].int
        severity = json["severity"].int
        customData = json["customData"].present
    }

    /// What kind of trouble a code speaks of.
    public enum Kind: Sendable, Hashable { case unreachable, unsupported, decoding, keys, aborted, other }

    public var kind: Kind {
        switch code ?? 0 {
        case 103, 300, 301, 311, 312, 313, 321, 332: .unreachable
        case 104,
            201...203 where code != 201:
            .unsupported
        case 102, 110, 315, 316, 322, 400...431, 500: .decoding
        case 201, 314: .keys
        case 101, 904: .aborted
        default: .other
        }
    }

    /// The code in words, as a clause that follows "the receiver says that".
    public var explanation: String {
        let words =
            switch code ?? 0 {
            case 100: "it failed without saying why"
            case 101: "loading was aborted"
            case 102: "it could not decode the media"
            case 103: "it could not fetch the media over the network"
            case 104: "it cannot play this kind of media, or could not reach it"
            case 110: "it could not put the media into its buffer"
            case 201: "it could not fetch a key over the network"
            case 202: "it does not support this kind of protection"
            case 203: "it has no way to decrypt here"
            case 300: "the network failed"
            case 301: "it could not fetch a segment"
            case 311, 411: "it could not get or read the HLS master playlist"
            case 312, 412: "it could not get or read an HLS playlist"
            case 313: "nobody answered when it asked for a key"
            case 314: "it could not load a key"
            case 315, 423: "a segment is invalid"
            case 316: "it could not parse a segment"
            case 321: "it could not fetch a DASH segment or manifest"
            case 322: "the DASH initialisation segment is missing"
            case 331, 431: "it could not get or read the Smooth Streaming manifest"
            case 332: "no data came"
            case 421: "the DASH manifest has no periods"
            case 422: "the DASH manifest names no MIME type"
            case 400...422: "it could not read the manifest"
            case 500: "a segment failed"
            case 600: "the text track failed"
            case 900, 905, 906, 909: "its app failed to load the media"
            case 901: "an ad clip could not be loaded"
            case 902: "the seek over an ad break failed"
            case 903: "it could not show the image"
            case 904: "another load came in between"
            default: "it could not load the media"
            }
        let details = [code.map { "code \($0)" }, reason.map { "reason \($0)" }].compactMap { $0 }
        return details.isEmpty ? words : "\(words) (\(details.joined(separator: ", ")))"
    }
}

/// Why a receiver did not take a request (`reason` of INVALID_REQUEST), as a word of its own.
public struct CastRefusal: RawRepresentable, Sendable, Hashable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue.uppercased() }

    /// What can be done about it.
    public enum Kind: Sendable, Hashable {
        /// The receiver does not know how, or not this way.
        case unsupported
        /// What it was about is not there any more.
        case gone
        /// Somebody has to sign in, or to pay.
        case account
        /// It is not allowed to play here, or to this person.
        case forbidden
        /// Too often, or too much at once.
        case limited
        /// There is nothing further in the queue.
        case endOfQueue
        /// The message itself was wrong.
        case malformed
        case other
    }

    public var kind: Kind {
        switch rawValue {
        case "INVALID_COMMAND", "NOT_SUPPORTED", "LANGUAGE_NOT_SUPPORTED", "VIDEO_DEVICE_REQUIRED": .unsupported
        case "INVALID_MEDIA_SESSION_ID", "INVALID_SESSION_ID": .gone
        case "PREMIUM_ACCOUNT_REQUIRED", "AUTHENTICATION_EXPIRED": .account
        case "PARENTAL_CONTROL_RESTRICTED", "CONTENT_FILTERED", "NOT_AVAILABLE_IN_REGION": .forbidden
        case "SKIP_LIMIT_REACHED", "CONCURRENT_STREAM_LIMIT": .limited
        case "END_OF_QUEUE": .endOfQueue
        case "INVALID_PARAMS", "INVALID_REQUEST", "DUPLICATE_REQUEST_ID": .malformed
        default: .other
        }
    }

    /// A clause that follows "the receiver says that".
    public var explanation: String {
        switch rawValue {
        case "INVALID_COMMAND": "it cannot do that with what is loaded"
        case "INVALID_PARAMS": "a value in the request does not fit what is loaded"
        case "INVALID_REQUEST": "it does not understand the request"
        case "DUPLICATE_REQUEST_ID": "it has had a request of this number"
        case "INVALID_MEDIA_SESSION_ID": "what the request was about is not loaded any more"
        case "INVALID_SESSION_ID": "the app that the request was about does not run any more"
        case "SKIP_LIMIT_REACHED": "nothing more may be skipped for now"
        case "NOT_SUPPORTED": "its app does not support that"
        case "LANGUAGE_NOT_SUPPORTED": "there is nothing in this language"
        case "END_OF_QUEUE": "there is nothing further in the queue"
        case "VIDEO_DEVICE_REQUIRED": "this needs a device with a screen"
        case "PREMIUM_ACCOUNT_REQUIRED": "this needs a paid account"
        case "AUTHENTICATION_EXPIRED": "the account's sign-in has expired"
        case "CONCURRENT_STREAM_LIMIT": "the account plays in too many places"
        case "PARENTAL_CONTROL_RESTRICTED": "parental control does not allow it"
        case "CONTENT_FILTERED": "a filter does not let it through"
        case "NOT_AVAILABLE_IN_REGION": "it is not available in this region"
        case "CONTENT_ALREADY_PLAYING": "it plays already"
        case "APP_ERROR": "its app failed"
        case "GENERIC_LOAD_ERROR": "its app could not load the media"
        default: "it refuses (\(rawValue))"
        }
    }
}
