import CSodium
import Foundation
import Glibc

/// What seals secrets before they come into the state file: XSalsa20-Poly1305 (libsodium's secretbox), each with a nonce of
/// its own before it. The key is in a file beside (mode 0600), so that no copy of the state file alone tells a secret.
struct SecretBox: Sendable {
    static let keyLength = 32
    private static let nonceLength = 24
    private static let tagLength = 16
    private static let isReady = sodium_init() >= 0

    private let key: [UInt8]

    init(key: [UInt8]) throws {
        guard Self.isReady, key.count == Self.keyLength else { throw StoreFault.content("the key is not whole") }
        self.key = key
    }

    /// One that is gone with the value.
    static func random() throws -> SecretBox { try SecretBox(key: randomBytes(keyLength)) }

    // MARK: The key's file

    static func keyPath(of store: String) -> String { (store as NSString).deletingPathExtension + ".key" }

    /// With the key that is there; nil where there is none. Throws `StoreFault` where it cannot be read.
    static func existing(at path: String) throws -> SecretBox? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw StoreFault.file(path: path, reason: String(cString: strerror(errno)))
        }
        defer { close(descriptor) }
        var status = stat()
        if fstat(descriptor, &status) == 0, status.st_mode & 0o077 != 0 { fchmod(descriptor, 0o600) }
        // One byte more, so that a longer file is none.
        var bytes = [UInt8](repeating: 0, count: keyLength + 1)
        let count = read(descriptor, &bytes, bytes.count)
        guard count == keyLength else { throw StoreFault.file(path: path, reason: "it is no key of ours") }
        return try SecretBox(key: Array(bytes.prefix(keyLength)))
    }

    /// With the key that is there, made where there is none. Of several who make one at a time, one wins.
    static func made(at path: String) throws -> SecretBox {
        if let box = try existing(at: path) { return box }
        let box = try random()
        let draft = "\(path).\(UUID().uuidString)"
        let descriptor = Glibc.open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreFault.file(path: path, reason: String(cString: strerror(errno))) }
        defer { unlink(draft) }
        let isWritten = write(descriptor, box.key, keyLength) == keyLength && fsync(descriptor) == 0
        close(descriptor)
        guard isWritten else { throw StoreFault.file(path: path, reason: "it could not be written") }
        // Never over one that is there.
        guard link(draft, path) == 0 || errno == EEXIST else {
            throw StoreFault.file(path: path, reason: String(cString: strerror(errno)))
        }
        guard let kept = try existing(at: path) else { throw StoreFault.file(path: path, reason: "it is gone again") }
        return kept
    }

    // MARK: Sealing

    func seal(_ secret: [UInt8]) throws -> [UInt8] {
        let nonce = Self.randomBytes(Self.nonceLength)
        var sealed = [UInt8](repeating: 0, count: secret.count + Self.tagLength)
        guard crypto_secretbox_easy(&sealed, secret, UInt64(secret.count), nonce, key) == 0 else {
            throw StoreFault.content("a secret could not be sealed")
        }
        return nonce + sealed
    }

    /// Nil for what this key has not sealed, or somebody has changed since.
    func open(_ sealed: [UInt8]) -> [UInt8]? {
        guard sealed.count >= Self.nonceLength + Self.tagLength else { return nil }
        let nonce = Array(sealed.prefix(Self.nonceLength))
        let body = Array(sealed.dropFirst(Self.nonceLength))
        var secret = [UInt8](repeating: 0, count: body.count - Self.tagLength)
        guard crypto_secretbox_open_easy(&secret, body, UInt64(body.count), nonce, key) == 0 else { return nil }
        return secret
    }

    private static func randomBytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in .random(in: 0...255, using: &generator) }
    }
}
