import Foundation
import RouteBackend
import RouteModel
import RouterCore
import RouterStore
import RouterTestKit

/// What queue_bench.py runs: prints one line of JSON, milliseconds. With a folder as argument, its store is made there
/// and left, with a session of so many items that can be taken up again.
///
/// A whole engine with a store on disk and a device in memory: each figure is what a client waits for.
@main
enum QueueBenchmarks {
    static let count = 100_000
    static let rounds = 21

    static func main() async throws {
        let given = CommandLine.arguments.dropFirst().first.map { URL(filePath: $0) }
        let folder =
            given ?? FileManager.default.temporaryDirectory.appending(path: "queue-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { if given == nil { try? FileManager.default.removeItem(at: folder) } }
        let path = folder.appending(path: "router.sqlite").path
        let edited = try await Bench(store: try RouterStore(path: path)).run { try await $0.edits() }
        let session = edited.session
        var figures = edited.figures
        // As a process that comes up does it, with a store that has read nothing yet.
        let began = now()
        let store = try RouterStore(path: path)
        let again = Bench(store: store)
        let taken = try await again.run { bench in
            let found = try await bench.engine.sessionsToRejoin()
            let queue = found.first { $0.id == session }?.queue
            let read = milliseconds(since: began)
            _ = try await bench.engine.rejoin(session)
            return (queue?.items.count ?? 0, read, milliseconds(since: began))
        }
        guard taken.0 >= count else {
            FileHandle.standardError.write(Data("only \(taken.0) items came back\n".utf8))
            exit(1)
        }
        figures.append(#""start-up, until the queue is read":{"median":\#(taken.1),"most":\#(taken.1)}"#)
        figures.append(#""start-up, until it plays again":{"median":\#(taken.2),"most":\#(taken.2)}"#)
        print("{\(figures.joined(separator: ","))}")
    }

    static func now() -> Int64 { SystemHostClock().now() }
    static func milliseconds(since instant: Int64) -> Double { Double(now() - instant) / 1e6 }
}

/// An engine over a device that fetches and holds what comes next.
struct Bench: Sendable {
    let engine: RouterEngine
    let media = FakeMedia()
    private let clock = SystemHostClock()

    init(store: RouterStore) {
        let provider = FakeProvider(
            family: .cast, delivery: .pull(PullRequirements(receiverAddress: "127.0.0.1")), clock: clock,
            queueOnDevice: true)
        let paths = (0..<QueueBenchmarks.count).map { "/music/Artist/Album \($0 / 12)/\($0 % 12) Title.flac" }
        media.add(folder: "/music", of: paths)
        media.add("/one more.flac", seconds: 200)
        engine = RouterEngine(
            providers: [provider], browsing: nil, media: media, store: store, clock: clock,
            configuration: EngineConfiguration(stated: [provider.endpoint(named: "Lounge", host: "10.0.0.2")]))
    }

    func run<Value: Sendable>(_ body: @escaping @Sendable (Bench) async throws -> Value) async throws -> Value {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await engine.run() }
            let value = try await body(self)
            await engine.shutdown(.leave)
            return value
        }
    }

    /// Gives the session, which is left playing, and what edits of its queue cost.
    func edits() async throws -> (session: SessionID, figures: [String]) {
        var figures: [String] = []
        let session = try await engine.play(PlayRequest(what: ["/music"], rooms: ["Lounge"]))
        let ids = session.queue.items.map(\.id)
        let one = ["/one more.flac"]
        figures.append(
            try await measure("insert") { round in
                _ = try await edit(.insert(one, before: ids[1000 + round * 4000]))
            })
        figures.append(
            try await measure("move") { round in
                _ = try await edit(.move([ids[90_000 + round], ids[200 + round]], before: ids[50_000 + round]))
            })
        figures.append(
            try await measure("remove") { round in _ = try await edit(.remove([ids[70_000 + round * 100]])) })
        figures.append(try await measure("undo", rounds: PlayQueueLimits.undo) { _ in _ = try await edit(.undo) })
        figures.append(try await measure("snapshot") { _ in _ = await engine.sessions() })
        figures.append(
            try await measure("shuffle") { _ in
                _ = try await engine.perform(.shuffle(true), session: nil, origin: .api)
            })
        figures.append(
            try await measure("insert while shuffled") { _ in _ = try await edit(.playNext(one)) })
        figures.append(
            try await measure("undo while shuffled", rounds: PlayQueueLimits.undo) { _ in _ = try await edit(.undo) })
        return (session.id, figures)
    }

    private func edit(_ edit: QueueEdit) async throws -> QueueSnapshot {
        try await engine.edit(edit, session: nil, ifVersion: nil, workingDirectory: "/")
    }

    /// Apart from each other, so that what is written of one is not the other's.
    private func measure(
        _ name: String, rounds: Int = QueueBenchmarks.rounds, _ body: (Int) async throws -> Void
    ) async throws -> String {
        var times: [Double] = []
        for round in 0..<rounds {
            try await Task.sleep(for: .milliseconds(700))
            let began = QueueBenchmarks.now()
            try await body(round)
            times.append(QueueBenchmarks.milliseconds(since: began))
        }
        times.sort()
        return #""\#(name)":{"median":\#(times[times.count / 2]),"most":\#(times[times.count - 1])}"#
    }
}

/// What can be taken back, of the engine's queue.
enum PlayQueueLimits {
    static let undo = 10
}
