import Foundation
import GRDB
import RouteModel
import Testing

@testable import RouterStore

/// A folder that is gone when the test is.
final class TemporaryFolder: Sendable {
    let path: String

    init() {
        path = NSTemporaryDirectory() + "router-store-" + UUID().uuidString
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// A state file in a folder that does not exist yet.
    var file: String { path + "/state/router/router.sqlite" }

    func entries() -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path + "/state/router")) ?? []).sorted()
    }
}

func permissions(_ path: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return try #require(attributes[.posixPermissions] as? NSNumber).intValue
}

/// The error that opening gives, which must be the one public kind.
func openingError(_ path: String) -> RouterError? {
    do {
        _ = try RouterStore(path: path)
        return nil
    } catch {
        return error as? RouterError
    }
}

func item(_ id: String, path: String, title: String? = nil) -> QueueItem {
    QueueItem(id: ItemID(rawValue: id), source: .file(path: path), metadata: MediaMetadata(kind: .music, title: title))
}

func record(_ id: String) -> SessionRecord {
    var record = SessionRecord(
        session: SessionID(rawValue: id), routes: ["rt-b", "rt-a"].map(RouteID.init(rawValue:)),
        item: ItemID(rawValue: "01J"), position: MediaTime(frames: 123_457, sampleRate: 44_100), playing: true,
        rejoin: [RouteID(rawValue: "rt-a"): "session|transport"],
        members: [
            SessionRecord.Member(
                route: RouteID(rawValue: "rt-b"), name: "Küche", room: "Küche",
                endpoint: Endpoint(
                    id: EndpointID(rawValue: "cast:1"), protocol: .cast, name: "Küche", host: "10.0.0.2", port: 8009,
                    origin: .stated), window: [MediaToken(rawValue: "00ff")],
                volume: VolumeState(level: VolumePosition(0.25), muted: true), trim: 0.5)
        ],
        anchor: PlaybackAnchor(
            item: ItemID(rawValue: "01J"), time: MediaTime(milliseconds: 1250), instant: 77, rate: 1.5,
            quality: .deviceReported, duration: MediaTime(milliseconds: 60_000)), rate: 1.5)
    record.master = 0
    record.silencedMaster = 0.75
    record.volumesLinked = true
    record.played = [ItemID(rawValue: "01H"), ItemID(rawValue: "01G")]
    return record
}
