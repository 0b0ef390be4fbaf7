import Foundation
import RouteModel
import RouterAPI
import RouterDaemon
import SceneScript

/// Words for the shell: the daemon's, if it gives them within 150 ms, else those that were seen last, and those of the
/// configuration. The shell is never kept waiting, and an error is no word.
enum DynamicCompletion {
    static let deadline = Duration.milliseconds(150)

    static func rooms() async -> [String] {
        let known = await ask { client in
            let rooms = try await client.rooms(settle: false)
            CompletionCache.standard?.remember(rooms: rooms)
            return rooms.flatMap { [$0.name] + $0.aliases }
        }
        return unique((known ?? CompletionCache.standard?.words(.rooms) ?? []) + RoomCompletion.names())
    }

    static func devices() async -> [String] {
        let known = await ask { try await $0.routes(settle: false).routes.map(\.name) }
        return unique(known ?? CompletionCache.standard?.words(.devices) ?? [])
    }

    static func groups() async -> [String] {
        await ask { try await $0.groups().map(\.name) } ?? CompletionCache.standard?.words(.groups) ?? []
    }

    static func selectors() async -> [String] {
        ["@active", "@all", "@default"] + (await groups()).map { "@group:\($0)" }
    }

    static func savedQueues() async -> [String] { await ask { try await $0.savedQueues().map(\.name) } ?? [] }

    static func sessions() async -> [String] {
        await ask { client in
            let left = try await client.sessionsToRejoin().map(\.id.rawValue)
            return unique(await client.sessions().map(\.id.rawValue) + left)
        } ?? []
    }

    /// Names of scenes, and files of scenes and folders as far as the path is typed.
    static func scenes(_ typed: String) -> [String] {
        let before = typed.lastIndex(of: "/").map { String(typed[...$0]) } ?? ""
        let files = (try? FileManager.default.contentsOfDirectory(atPath: before.isEmpty ? "." : before)) ?? []
        let paths = files.filter { !$0.hasPrefix(".") }.sorted().compactMap { name -> String? in
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: before + name, isDirectory: &isFolder) else { return nil }
            if isFolder.boolValue { return before + name + "/" }
            return name.hasSuffix(".yaml") || name.hasSuffix(".yml") ? before + name : nil
        }
        return unique((before.isEmpty ? SceneFile.names(in: SceneFile.folder()) : []) + paths.prefix(maximumWords))
    }

    /// Titles: what a person knows an item by.
    static func queueItems() async -> [String] {
        await ask { client in
            let sessions = await client.sessions().filter(\.isActive)
            guard !sessions.isEmpty else { return [] }
            return unique(["current", "last"] + sessions.flatMap(\.queue.items).prefix(maximumWords).map(\.title))
        } ?? []
    }

    /// A list that is longer helps nobody.
    private static let maximumWords = 500

    private static func unique(_ words: [String]) -> [String] {
        var seen: Set<String> = []
        return words.filter { !$0.isEmpty && !$0.contains("\n") && seen.insert($0).inserted }
    }

    /// Nil where there is no daemon, or no answer in time.
    private static func ask(_ question: @escaping @Sendable (RouterClient) async throws -> [String]) async -> [String]?
    {
        let place = RouterPlace.defaultSocket(environment: ProcessInfo.processInfo.environment)
        guard case .socket(let path) = place, UnixSocket.listener(at: path) != nil else { return nil }
        return await withTaskGroup(of: [String]?.self) { group in
            defer { group.cancelAll() }
            group.addTask { try? await question(RouterClient(place)) }
            group.addTask {
                try? await Task.sleep(for: deadline)
                return nil
            }
            return await group.next() ?? nil
        }
    }
}

/// Room names from the configuration only.
enum RoomCompletion {
    static func names() -> [String] {
        let path = RouterConfiguration.defaultPath(environment: ProcessInfo.processInfo.environment)
        let configuration = try? RouterConfiguration.load(path: path, mustExist: false)
        return (configuration?.rooms ?? []).flatMap { [$0.name] + $0.aliases }
    }
}

/// Names that were seen last, kept for a shell that cannot wait: a small file of this person's own.
struct CompletionCache {
    enum Kind: String, Codable, Sendable { case rooms, devices, groups }

    let path: String

    /// In `$XDG_CACHE_HOME/router`, or under `~/.cache`; nil where there is no home.
    static var standard: CompletionCache? {
        let environment = ProcessInfo.processInfo.environment
        let base =
            environment["XDG_CACHE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
            ?? environment["HOME"].map { $0 + "/.cache" }
        return base.map { CompletionCache(path: $0 + "/router/names.json") }
    }

    private static let maximumBytes = 1 << 18
    private static let maximumNames = 2000

    func words(_ kind: Kind) -> [String] { read()[kind.rawValue] ?? [] }

    func remember(rooms: [Room]) { remember(.rooms, rooms.flatMap { [$0.name] + $0.aliases }) }
    func remember(devices: [Route]) { remember(.devices, devices.map(\.name)) }
    func remember(groups: [RoomGroup]) { remember(.groups, groups.map(\.name)) }

    private func remember(_ kind: Kind, _ words: [String]) {
        var all = read()
        let new = Array(words.prefix(Self.maximumNames))
        guard all[kind.rawValue] != new else { return }
        all[kind.rawValue] = new
        guard let data = try? JSONEncoder().encode(all), data.count <= Self.maximumBytes else { return }
        // Only a help: where it cannot be written, nothing is lost.
        let folder = (path as NSString).deletingLastPathComponent
        try? FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let trial = "\(path).\(getpid())"
        guard FileManager.default.createFile(atPath: trial, contents: data, attributes: [.posixPermissions: 0o600])
        else {
            return
        }
        if rename(trial, path) != 0 { unlink(trial) }
    }

    private func read() -> [String: [String]] {
        guard let data = try? RegularFile.read(path, limit: Self.maximumBytes) else { return [:] }
        return (try? JSONDecoder().decode([String: [String]].self, from: data)) ?? [:]
    }
}
