import Foundation
import GRDB
import RouteModel

/// Who we are towards devices, and which of them know us. Secrets are sealed, with a key in a file of its own.
extension RouterStore {
    /// Another one where the key that the old one was sealed with is gone: so are the pairings that it was for.
    public func identity() async throws -> InstallationIdentity {
        let box = try secretBox()
        return try await write("make an identity for devices") { db in
            if let row = try Row.fetchOne(db, sql: "SELECT identifier, seed FROM identity"),
                let seed = box.open(Self.bytes(row["seed"]))
            {
                return InstallationIdentity(identifier: row["identifier"], seed: seed)
            }
            let identity = InstallationIdentity.random()
            try db.execute(
                sql: "INSERT OR REPLACE INTO identity (one, identifier, seed) VALUES (1, ?, ?)",
                arguments: [identity.identifier, Self.data(try box.seal(identity.seed))])
            return identity
        }
    }

    /// Nil also for what cannot be unsealed: the device has to be paired again.
    public func credentials(forAnyOf keys: [StrongKey]) async throws -> DeviceCredentials? {
        guard let box = try knownSecretBox() else { return nil }
        return try await read("read what a pairing gave") { db in
            guard let id = try Self.pairing(forAnyOf: keys, db),
                let row = try Row.fetchOne(db, sql: "SELECT kind, secret FROM pairing WHERE id = ?", arguments: [id]),
                // A kind that a later version made is of no use here.
                let kind = PairingKind(rawValue: row["kind"]), let secret = box.open(Self.bytes(row["secret"]))
            else { return nil }
            return DeviceCredentials(kind: kind, secret: secret)
        }
    }

    public func savePairing(_ record: PairingRecord, credentials: DeviceCredentials) async throws {
        let box = try secretBox()
        try await write("keep a pairing") { db in
            let secret = try box.seal(credentials.secret)
            try Self.remove(record.keys, db)
            try db.execute(
                sql: "INSERT INTO pairing (name, kind, secret, madeAt) VALUES (?, ?, ?, ?)",
                arguments: [record.name, record.kind.rawValue, Self.data(secret), record.madeAt])
            let id = db.lastInsertedRowID
            for key in Set(record.keys) {
                try db.execute(
                    sql: "INSERT INTO pairingKey (kind, value, pairing) VALUES (?, ?, ?)",
                    arguments: [key.kind.rawValue, key.value, id])
            }
        }
    }

    public func pairings() async throws -> [PairingRecord] {
        try await read("list the pairings") { db in
            try Row.fetchAll(db, sql: "SELECT id, name, kind, madeAt FROM pairing ORDER BY name, id").compactMap {
                row in
                guard let kind = PairingKind(rawValue: row["kind"]) else { return nil }
                let keys = try Row.fetchAll(
                    db, sql: "SELECT kind, value FROM pairingKey WHERE pairing = ? ORDER BY kind, value",
                    arguments: [row["id"] as Int64])
                return PairingRecord(
                    name: row["name"], kind: kind,
                    keys: keys.compactMap { key in
                        StrongKey.Kind(rawValue: key["kind"]).map { StrongKey($0, key["value"]) }
                    },
                    madeAt: row["madeAt"])
            }
        }
    }

    public func removePairing(forAnyOf keys: [StrongKey]) async throws {
        try await write("forget a pairing") { try Self.remove(keys, $0) }
    }

    private static func remove(_ keys: [StrongKey], _ db: Database) throws {
        while let id = try pairing(forAnyOf: keys, db) {
            try db.execute(sql: "DELETE FROM pairing WHERE id = ?", arguments: [id])
        }
    }

    private static func pairing(forAnyOf keys: [StrongKey], _ db: Database) throws -> Int64? {
        for key in keys {
            if let id = try Int64.fetchOne(
                db, sql: "SELECT pairing FROM pairingKey WHERE kind = ? AND value = ?",
                arguments: [key.kind.rawValue, key.value])
            {
                return id
            }
        }
        return nil
    }

    /// What seals secrets; its key is made where there is none.
    private func secretBox() throws -> SecretBox {
        try kept { file in try file.map { try SecretBox.made(at: SecretBox.keyPath(of: $0.path)) } ?? .random() }
            ?? .random()
    }

    /// Nil where there is no key yet.
    private func knownSecretBox() throws -> SecretBox? {
        try kept { file in try file.flatMap { try SecretBox.existing(at: SecretBox.keyPath(of: $0.path)) } }
    }

    private func kept(_ load: (StoreFile?) throws -> SecretBox?) throws -> SecretBox? {
        if let box { return box }
        do {
            box = try load(file)
            return box
        } catch {
            throw RouterError.storage(error, doing: "read the key of the pairings", path: file?.path)
        }
    }

    private static func data(_ bytes: [UInt8]) -> Data { Data(bytes) }
    private static func bytes(_ data: Data) -> [UInt8] { [UInt8](data) }
}
