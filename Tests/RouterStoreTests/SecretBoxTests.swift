import Foundation
import GRDB
import RouteModel
import Testing

@testable import RouterStore

@Suite("R6 secrets in the state file")
struct SecretBoxTests {
    let folder = TemporaryFolder()
    private var key: String { folder.path + "/state/router/router.key" }
    private let mac = StrongKey(.mac, "aabbccddeeff")
    private let secret: [UInt8] = Array("a secret that a device gave us".utf8)

    private func pair(_ store: RouterStore) async throws {
        try await store.savePairing(
            PairingRecord(name: "TV", kind: .pin, keys: [mac], madeAt: 5),
            credentials: DeviceCredentials(kind: .pin, secret: secret))
    }

    /// Whether any file of the folder but the key holds these bytes.
    private func isFound(_ bytes: [UInt8]) throws -> Bool {
        try folder.entries().filter { !$0.hasSuffix(".key") }.contains { name in
            let data = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/state/router/" + name))
            return data.range(of: Data(bytes)) != nil
        }
    }

    @Test("what was sealed is opened by its key alone, and not where a bit of it was changed")
    func sealing() throws {
        let box = try SecretBox.random()
        for length in [0, 1, 32, 1000] {
            let secret = (0..<length).map { UInt8($0 & 255) }
            let sealed = try box.seal(secret)
            #expect(sealed.count == length + 40)
            #expect(box.open(sealed) == secret)
            #expect(try box.seal(secret) != sealed, "never twice by the same nonce")
            #expect(try SecretBox.random().open(sealed) == nil)
            for place in [0, 23, 24, sealed.count - 1] {
                var changed = sealed
                changed[place] ^= 1
                #expect(box.open(changed) == nil, "\(length) \(place)")
            }
            for count in [0, 1, 39, sealed.count - 1] where count < sealed.count {
                #expect(box.open(Array(sealed.prefix(count))) == nil)
            }
        }
        #expect(throws: StoreFault.self) { try SecretBox(key: [1, 2, 3]) }
    }

    @Test("the key is made once, by whoever comes first, and is its owner's only; what is no key is refused in words")
    func keyFile() async throws {
        try FileManager.default.createDirectory(
            atPath: folder.path + "/state/router", withIntermediateDirectories: true)
        let path = key
        #expect(try SecretBox.existing(at: path) == nil)
        let sealed = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<16 { group.addTask { try SecretBox.made(at: path).seal([7]) } }
            return try await group.reduce(into: [[UInt8]]()) { $0.append($1) }
        }
        let box = try #require(try SecretBox.existing(at: path))
        #expect(sealed.allSatisfy { box.open($0) == [7] })
        #expect(try permissions(path) == 0o600)
        #expect(folder.entries() == ["router.key"])
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        _ = try SecretBox.existing(at: path)
        #expect(try permissions(path) == 0o600)
        for length in [0, 31, 33] {
            try Data(repeating: 1, count: length).write(to: URL(fileURLWithPath: path))
            #expect(throws: StoreFault.self) { try SecretBox.existing(at: path) }
            let error = await #expect(throws: RouterError.self) { try await pair(try RouterStore(path: folder.file)) }
            #expect(error?.code == .storage && error?.message.contains("router.key") == true)
        }
    }

    @Test("no secret is in the state file, its log, or a copy that was put aside")
    func sealed() async throws {
        let store = try RouterStore(path: folder.file)
        let identity = try await store.identity()
        try await pair(store)
        #expect(try await store.credentials(forAnyOf: [mac])?.secret == secret)
        #expect(try !isFound(secret) && !isFound(identity.seed))
        #expect(try permissions(key) == 0o600)
        let other = try RouterStore(path: folder.file)
        #expect(try await other.identity() == identity)
        #expect(try await other.credentials(forAnyOf: [mac])?.secret == secret)
    }

    @Test("what a file of version 5 has as it is, is sealed when it is taken over, and overwritten")
    func migration() async throws {
        try FileManager.default.createDirectory(
            atPath: folder.path + "/state/router", withIntermediateDirectories: true)
        let seed = Array("0123456789abcdef0123456789ABCDEF".utf8)
        let (secret, mac) = (secret, mac)
        let database = try DatabaseQueue(path: folder.file)
        try StoreSchema.migrations().migrate(database, upTo: "queues and history")
        try await database.write { db in
            try db.execute(
                sql: """
                    INSERT INTO identity (one, identifier, seed) VALUES (1, 'ME', ?);
                    INSERT INTO pairing (id, name, kind, secret, madeAt) VALUES (1, 'TV', 'pin', ?, 5);
                    INSERT INTO pairingKey (kind, value, pairing) VALUES (?, ?, 1);
                    PRAGMA user_version = 5;
                    """, arguments: [Data(seed), Data(secret), mac.kind.rawValue, mac.value])
        }
        try database.close()
        #expect(try isFound(secret) && isFound(seed))
        let store = try RouterStore(path: folder.file)
        #expect(try !isFound(secret) && !isFound(seed))
        #expect(try await store.identity() == InstallationIdentity(identifier: "ME", seed: seed))
        #expect(try await store.credentials(forAnyOf: [mac])?.secret == secret)
    }

    @Test("without its key a pairing is none, which is said; the device can be paired again")
    func lostKey() async throws {
        let first = try RouterStore(path: folder.file)
        #expect(first.openingNotice == nil)
        let identity = try await first.identity()
        try await pair(first)
        try FileManager.default.removeItem(atPath: key)
        let store = try RouterStore(path: folder.file)
        #expect(store.openingNotice?.message.contains("router.key") == true)
        #expect(try await store.credentials(forAnyOf: [mac]) == nil)
        let another = try await store.identity()
        #expect(another.identifier != identity.identifier && another.seed != identity.seed)
        #expect(try await store.identity() == another)
        try await pair(store)
        #expect(try await store.credentials(forAnyOf: [mac])?.secret == secret)
        #expect(try RouterStore(path: folder.file).openingNotice == nil)
    }
}
