import COpenSSL

/// A `WWW-Authenticate: Digest` challenge (`Protocols/airplay/README.md`, “Passwords”).
public struct DigestChallenge: Sendable, Hashable {
    public var realm: String
    public var nonce: String

    public init(realm: String, nonce: String) {
        self.realm = realm
        self.nonce = nonce
    }

    /// Nil where it is another scheme, or has no nonce.
    public init?(parsing header: String) {
        guard let fields = DigestFields(parsing: header), let nonce = fields["nonce"] else { return nil }
        self.init(realm: fields["realm"] ?? "", nonce: nonce)
    }

    public var text: String { "Digest realm=\"\(quoted(realm))\", nonce=\"\(quoted(nonce))\"" }
}

/// An `Authorization: Digest` header. Printing it shows no response: one could be used to guess the password.
public struct DigestAuthorization: Sendable, Hashable, CustomStringConvertible {
    public var user: String
    public var realm: String
    public var nonce: String
    public var uri: String
    public var response: String

    /// Answers a challenge: MD5(MD5(user:realm:password):nonce:MD5(method:uri)), without qop.
    public init(
        challenge: DigestChallenge, user: String, password: String, method: String, uri: String,
        uppercase: Bool = false
    ) {
        self.user = user
        realm = challenge.realm
        nonce = challenge.nonce
        self.uri = uri
        response = Self.response(
            challenge: challenge, user: user, password: password, method: method, uri: uri, uppercase: uppercase)
    }

    /// Nil where it is another scheme, or a field is missing.
    public init?(parsing header: String) {
        guard let fields = DigestFields(parsing: header), let user = fields["username"],
            let nonce = fields["nonce"], let uri = fields["uri"], let response = fields["response"]
        else { return nil }
        self.user = user
        realm = fields["realm"] ?? ""
        self.nonce = nonce
        self.uri = uri
        self.response = response
    }

    /// Whether it is the right answer for this method and password, in either case of hex digits.
    public func matches(password: String, method: String) -> Bool {
        let challenge = DigestChallenge(realm: realm, nonce: nonce)
        return [false, true].contains { uppercase in
            response
                == Self.response(
                    challenge: challenge, user: user, password: password, method: method, uri: uri,
                    uppercase: uppercase)
        }
    }

    /// - Parameter uppercase: hex digits of all three hashes in upper case, as the first AirPort Express computes.
    public static func response(
        challenge: DigestChallenge, user: String, password: String, method: String, uri: String, uppercase: Bool
    ) -> String {
        let secret = md5Hex("\(user):\(challenge.realm):\(password)", uppercase: uppercase)
        let request = md5Hex("\(method):\(uri)", uppercase: uppercase)
        return md5Hex("\(secret):\(challenge.nonce):\(request)", uppercase: uppercase)
    }

    public var text: String {
        "Digest username=\"\(quoted(user))\", realm=\"\(quoted(realm))\", nonce=\"\(quoted(nonce))\", "
            + "uri=\"\(quoted(uri))\", response=\"\(response)\""
    }

    public var description: String { "Digest username=\"\(user)\", realm=\"\(realm)\", response hidden" }

    private static func md5Hex(_ text: String, uppercase: Bool) -> String {
        var digest = [UInt8](repeating: 0, count: 16)
        let bytes = Array(text.utf8)
        EVP_Digest(bytes, bytes.count, &digest, nil, EVP_md5(), nil)
        let digits = Array((uppercase ? "0123456789ABCDEF" : "0123456789abcdef").utf8)
        return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

private func quoted(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
}

/// `Digest name="value", name=value`: the parameters, names in lower case.
private struct DigestFields {
    private var values: [String: String] = [:]

    init?(parsing header: String) {
        let trimmed = header.trimmed
        guard trimmed.lowercased().hasPrefix("digest ") else { return nil }
        var rest = trimmed.dropFirst(7)
        while let equals = rest.firstIndex(of: "=") {
            let name = rest[..<equals].drop { $0 == "," || $0.isWhitespace }.trimmed.lowercased()
            rest = rest[rest.index(after: equals)...].drop { $0.isWhitespace }
            var value = ""
            if rest.first == "\"" {
                rest = rest.dropFirst()
                while let character = rest.popFirst(), character != "\"" {
                    value.append(character == "\\" ? rest.popFirst() ?? character : character)
                }
            } else {
                value = rest.prefix { $0 != "," }.trimmed
                rest = rest.drop { $0 != "," }
            }
            values[name] = value
        }
    }

    subscript(name: String) -> String? { values[name] }
}
