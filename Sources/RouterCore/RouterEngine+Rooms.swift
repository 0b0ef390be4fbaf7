import RouteBackend
import RouteModel

/// Rooms and groups: of the configuration file, made by commands, and what a person means by a name.
extension RouterEngine {
    /// Rooms of the file, then those of the store that have no name of these: the file has the say.
    var configuredRooms: [Room] {
        let taken = Set(fileRooms.flatMap { [$0.name] + $0.aliases }.map { $0.lowercased() })
        return fileRooms
            + storedRooms.filter { room in
                ([room.name] + room.aliases).allSatisfy { !taken.contains($0.lowercased()) }
            }
    }

    /// What commands made in an earlier run.
    func takeStoredRooms() async {
        do {
            storedRooms = try await store.rooms()
            storedGroups = try await store.roomGroups()
        } catch {
            let error = RouterError(wrapping: error)
            tell(Notice(.warning, "the rooms that were made are not known: \(error.message)", hint: error.hint))
        }
    }

    /// The rooms of the configuration file are these from now on, also for what plays.
    public func reconfigure(rooms: [Room]) async {
        await admitStated()
        guard rooms != fileRooms else { return }
        fileRooms = rooms
        await roomsChanged()
    }

    /// Tells people something that is not of the engine's own doing.
    public func report(_ notice: Notice) { tell(notice) }

    private func roomsChanged() async {
        tellRooms()
        let rooms = configuredRooms
        for session in running { await session.take(rooms) }
    }

    // MARK: Making and removing

    public func saveRoom(_ room: Room, replacing name: String?) async throws -> Room {
        await admitStated()
        var room = try RoomRules.checked(room)
        room.configured = false
        room.stored = true
        room.routes = []
        return try await alone {
            if let name, fileRoom(name) != nil { throw Self.ofTheFile(name) }
            let old = name.flatMap { storedRoom($0) }
            if let name, old == nil, !deviceRooms.contains(where: { $0.name.lowercased() == name.lowercased() }) {
                throw Self.noRoom(name, near: configuredRooms.map(\.name))
            }
            for wanted in [room.name] + room.aliases {
                if let other = fileRoom(wanted) { throw Self.taken(wanted, by: other, ofFile: true) }
                guard let other = storedRoom(wanted), other.name != old?.name else { continue }
                throw Self.taken(wanted, by: other, ofFile: false)
            }
            guard old != nil || storedRooms.count < RoomRules.maximumRooms else {
                throw RouterError(
                    .configuration, "there are \(RoomRules.maximumRooms) rooms already",
                    hint: "Remove one first, with “router rooms remove”", scope: .command)
            }
            try await store.saveRoom(room, replacing: old?.name)
            storedRooms.removeAll { $0.name == old?.name || $0.name == room.name }
            storedRooms.append(room)
            storedRooms.sort { $0.name.lowercased() < $1.name.lowercased() }
            // It may have been named by an alias.
            if let before = old?.name ?? name, before != room.name {
                try await rename(before, to: room.name)
                for session in running { await session.isRenamed(before, to: room.name) }
            }
            await roomsChanged()
            let rooms = RoomSelector.rooms(configured: configuredRooms, routes: registry.routes)
            return rooms.first { $0.name == room.name && $0.isMade } ?? room
        }
    }

    public func removeRoom(_ name: String) async throws {
        await admitStated()
        try await alone {
            if fileRoom(name) != nil { throw Self.ofTheFile(name) }
            guard let room = storedRoom(name) else { throw Self.noRoom(name, near: storedRooms.map(\.name)) }
            try await store.removeRoom(room.name)
            storedRooms.removeAll { $0.name == room.name }
            for group in storedGroups where group.has(room.name) {
                var left = group
                left.remove(room.name)
                try await keep(left, insteadOf: group)
            }
            await roomsChanged()
        }
    }

    public func groups() async throws -> [RoomGroup] {
        await admitStated()
        return storedGroups
    }

    public func saveGroup(_ group: RoomGroup) async throws -> RoomGroup {
        var group = try RoomRules.checked(group)
        var names: [String] = []
        for room in group.rooms {
            let name = try await roomName(room)
            if !names.contains(name) { names.append(name) }
            if let trim = group.trims.removeValue(forKey: room) { group.trims[name] = trim }
        }
        group.rooms = names
        if let stranger = group.trims.keys.sorted().first(where: { !names.contains($0) }) {
            throw RouterError(
                .configuration, "the group has a trim for “\(stranger)”, which is none of its rooms",
                hint: "Add the room, or leave the trim out", scope: .command, candidates: names)
        }
        let checked = group
        return try await alone {
            let old = storedGroup(checked.name)
            guard old != nil || storedGroups.count < RoomRules.maximumGroups else {
                throw RouterError(
                    .configuration, "there are \(RoomRules.maximumGroups) groups already",
                    hint: "Remove one first, with “router group remove”", scope: .command)
            }
            try await keep(checked, insteadOf: old)
            tellRooms()
            return checked
        }
    }

    public func removeGroup(_ name: String) async throws {
        await admitStated()
        try await alone {
            guard let group = storedGroup(name) else { throw noGroup(name) }
            try await keep(nil, insteadOf: group)
            tellRooms()
        }
    }

    /// A group without rooms is none.
    private func keep(_ group: RoomGroup?, insteadOf old: RoomGroup?) async throws {
        if let old, old.name != group?.name || group?.rooms.isEmpty ?? true {
            try await store.removeRoomGroup(old.name)
        }
        if let group, !group.rooms.isEmpty { try await store.saveRoomGroup(group) }
        storedGroups.removeAll { $0.name == old?.name || $0.name == group?.name }
        if let group, !group.rooms.isEmpty { storedGroups.append(group) }
        storedGroups.sort { $0.name.lowercased() < $1.name.lowercased() }
    }

    private func rename(_ old: String, to new: String) async throws {
        for group in storedGroups where group.has(old) {
            var renamed = group
            renamed.rename(old, to: new)
            try await keep(renamed, insteadOf: group)
        }
    }

    private func alone<Value: Sendable>(_ body: () async throws -> Value) async rethrows -> Value {
        if !roomLane.enter() { await withCheckedContinuation { roomLane.enqueue($0) } }
        defer { roomLane.leave() }
        return try await body()
    }

    private var deviceRooms: [Room] {
        RoomSelector.rooms(configured: configuredRooms, routes: registry.routes).filter { !$0.isMade }
    }

    private func fileRoom(_ name: String) -> Room? { fileRooms.first { $0.isCalled(name) } }
    private func storedRoom(_ name: String) -> Room? { storedRooms.first { $0.isCalled(name) } }
    private func storedGroup(_ name: String) -> RoomGroup? {
        storedGroups.first { $0.name.lowercased() == name.lowercased() }
    }

    /// The room's own name: one that was made need not be there now.
    private func roomName(_ selector: String) async throws -> String {
        await admitStated()
        if let made = configuredRooms.first(where: { $0.isCalled(selector) }) { return made.name }
        return try await room(selector).name
    }

    // MARK: What a person means

    /// A command with the room's own name in place of an alias, and `@group:NAME` for a group.
    func named(_ command: RemoteCommand) -> RemoteCommand {
        func name(_ room: String) -> String {
            if let group = group(meantBy: room) { return group.selector }
            return configuredRooms.first { $0.isCalled(room) }?.name ?? room
        }
        return switch command {
        case .setVolume(let level, let room): .setVolume(level, room: room.map(name))
        case .stepVolume(let step, let room): .stepVolume(step, room: room.map(name))
        case .mute(let muted, let room): .mute(muted, room: room.map(name))
        case .setStreamVolume(let level, let room): .setStreamVolume(level, room: room.map(name))
        case .trim(let trim, let room): .trim(trim, room: name(room))
        case .fade(let level, let time, let room): .fade(to: level, over: time, room: room.map(name))
        default: command
        }
    }

    /// Whether a command, as `named` gives it, is for the rooms of a group.
    func namesGroup(_ command: RemoteCommand) -> Bool {
        let room: String? =
            switch command {
            case .setVolume(_, let room), .stepVolume(_, let room), .mute(_, let room), .fade(_, _, let room),
                .setStreamVolume(_, let room):
                room
            case .trim(_, let room): room
            default: nil
            }
        return room?.hasPrefix(Self.groupPrefix) ?? false
    }

    /// The names of rooms that go by aliases or groups: what a session knows its rooms by.
    func names(meantBy selectors: [String]) -> [String] {
        selectors.flatMap { selector in
            group(meantBy: selector)?.rooms
                ?? [configuredRooms.first { $0.isCalled(selector) }?.name ?? selector]
        }
    }

    /// The rooms that a request means: by name, alias, id or the unique beginning of one, by a group's name
    /// (`@group:NAME`, or `NAME` where no room has it), all that are there (`@all`), or those where something plays
    /// (`@active`). A name not known yet is waited for.
    func targets(_ selectors: [String]) async throws -> [Room] {
        await admitStated()
        if selectors.isEmpty {
            let rooms = try await rooms(settle: true).filter { !$0.routes.isEmpty }
            guard rooms.count != 1 else { return rooms }
            if rooms.isEmpty { throw nothingFound() }
            throw RouterError(
                .routeAmbiguous, "there are \(rooms.count) rooms, and none was named",
                hint: "Say which with --room, such as --room \"\(rooms[0].name)\"", candidates: rooms.map(\.name))
        }
        var result: [Room] = []
        for selector in selectors {
            for room in try await rooms(meantBy: selector) where !result.contains(room) { result.append(room) }
        }
        return result
    }

    private func rooms(meantBy selector: String) async throws -> [Room] {
        if let group = group(meantBy: selector) {
            var result: [Room] = []
            for name in group.rooms { result.append(try await room(name)) }
            return result
        }
        guard selector.hasPrefix("@") else { return [try await room(selector)] }
        switch selector.lowercased() {
        case "@all":
            let rooms = try await rooms(settle: true).filter { !$0.routes.isEmpty }
            if rooms.isEmpty { throw nothingFound() }
            return rooms
        case "@active":
            let rooms = await activeRooms()
            if rooms.isEmpty {
                throw RouterError(
                    .routeNotFound, "nothing is playing in any room", hint: "Name a room, or use @all", scope: .route)
            }
            return rooms
        case let text where text.hasPrefix(Self.groupPrefix): throw noGroup(String(selector.dropFirst(7)))
        default:
            throw RouterError(
                .routeNotFound, "“\(selector)” means no rooms", hint: "Use @all, @active or @group:NAME", scope: .route,
                candidates: ["@all", "@active"] + storedGroups.map { "@group:\($0.name)" })
        }
    }

    private static let groupPrefix = "@group:"

    private func group(meantBy selector: String) -> RoomGroup? {
        if selector.lowercased().hasPrefix(Self.groupPrefix) {
            return storedGroup(String(selector.dropFirst(Self.groupPrefix.count)))
        }
        // A room of that name goes first.
        let rooms = RoomSelector.rooms(configured: configuredRooms, routes: registry.routes)
        return rooms.contains { $0.isCalled(selector) } ? nil : storedGroup(selector)
    }

    /// How loud the rooms of a named group are to be against each other, by room.
    func startTrims(_ selectors: [String]) -> [String: Double] {
        selectors.compactMap { group(meantBy: $0)?.trims }.reduce(into: [:]) { trims, more in
            trims.merge(more) { _, new in new }
        }
    }

    private func activeRooms() async -> [Room] {
        var routes: Set<RouteID> = []
        for session in running { routes.formUnion(await session.routes) }
        return RoomSelector.rooms(configured: configuredRooms, routes: registry.routes)
            .filter { !routes.isDisjoint(with: $0.routes) }
    }

    func room(_ selector: String) async throws -> Room {
        func answer() -> RoomSelector.Answer {
            let rooms = RoomSelector.rooms(configured: configuredRooms, routes: registry.routes)
            return RoomSelector(rooms: rooms, routes: registry.routes).resolve(selector)
        }
        // A browser calls itself complete once it has told what was announced before it began. A device that was turned on
        // a moment ago comes after that, so what nobody answers to yet is given the whole time.
        await waitForRoutes {
            switch answer() {
            case .exact(let room) where room.routes.count >= max(1, room.devices.count):
                // One record of a device comes before another, and one half of a pair before the other.
                self.settled || room.routes.allSatisfy(self.registry.isWhole)
            case .none: self.blind
            case .exact(let room) where room.routes.isEmpty: self.blind
            case .exact, .prefix, .ambiguous: self.settled
            }
        }
        switch answer() {
        case .exact(let room), .prefix(let room):
            guard !room.routes.isEmpty else {
                throw RouterError(
                    .routeNotFound,
                    "none of the devices of \(room.name) is there (\(room.devices.joined(separator: ", ")))",
                    hint: "Run “router devices” to see what is, and check the devices of the room in the configuration",
                    scope: .route)
            }
            return room
        case .ambiguous(let names):
            throw RouterError(
                .routeAmbiguous, "“\(selector)” could be \(names.joined(separator: " or "))",
                hint: "Type more of the name, or an id from “router devices --long”", scope: .route, candidates: names)
        case .none(let near):
            if registry.routes.isEmpty, configuredRooms.isEmpty { throw nothingFound(asked: selector) }
            let meant = near.isEmpty ? "" : "; did you mean \(near.map { "“\($0)”" }.joined(separator: " or "))?"
            let names = RoomSelector.rooms(configured: configuredRooms, routes: registry.routes).map(\.name)
            throw RouterError(
                .routeNotFound, "there is no room or device called “\(selector)”\(meant)",
                hint: "Run “router devices” to see what there is", scope: .route,
                candidates: near.isEmpty ? names : near)
        }
    }

    /// Why there is nothing at all, and what to try.
    private func nothingFound(asked: String? = nil) -> RouterError {
        let what = asked.map { "“\($0)” was not found: " } ?? ""
        if let broken = brokenDiscovery {
            return RouterError(
                .dependencyMissing, "\(what)\(broken.message ?? "discovery does not work here")",
                hint: broken.hint ?? "Name a receiver directly, such as --device raop://192.168.1.20")
        }
        return RouterError(
            .routeNotFound, "\(what)no receiver answered on this network",
            hint: "Check that it is on and in the same network, or name it: --device cast://192.168.1.21",
            scope: .route)
    }

    // MARK: Errors

    private func noGroup(_ name: String) -> RouterError {
        let near = NearNames.of(name, among: storedGroups.map(\.name))
        let meant = near.isEmpty ? "" : "; did you mean \(near.map { "“\($0)”" }.joined(separator: " or "))?"
        return RouterError(
            .routeNotFound, "there is no group called “\(name)”\(meant)",
            hint: "Run “router group list” to see what there is", scope: .route,
            candidates: near.isEmpty ? storedGroups.map(\.name) : near)
    }

    private static func noRoom(_ name: String, near names: [String]) -> RouterError {
        let near = NearNames.of(name, among: names)
        let meant = near.isEmpty ? "" : "; did you mean \(near.map { "“\($0)”" }.joined(separator: " or "))?"
        return RouterError(
            .routeNotFound, "no room was made that is called “\(name)”\(meant)",
            hint: "Run “router rooms list” to see what there is", scope: .route, candidates: near.isEmpty ? names : near
        )
    }

    private static func ofTheFile(_ name: String) -> RouterError {
        RouterError(
            .configuration, "the room “\(name)” is one of the configuration file", hint: "Change it there",
            scope: .command)
    }

    private static func taken(_ name: String, by other: Room, ofFile: Bool) -> RouterError {
        let whose = ofFile ? "a room of the configuration file" : "the room “\(other.name)”"
        return RouterError(
            .configuration, "“\(name)” is what \(whose) is called", hint: "Give it another name or alias",
            scope: .command)
    }
}

/// What rooms and groups may be that come from outside.
enum RoomRules {
    static let maximumRooms = 200
    static let maximumGroups = 200
    private static let maximumName = 64
    private static let maximumDevices = 32
    private static let maximumDeviceName = 512
    private static let maximumAliases = 16
    private static let offsets = -5000...5000

    static func checked(_ wanted: Room) throws -> Room {
        var room = wanted
        room.name = try name(room.name, "a room")
        room.aliases = try room.aliases.map { try name($0, "an alias") }
        guard room.aliases.count <= maximumAliases else {
            throw wrong("more than \(maximumAliases) aliases", "Keep those that are used")
        }
        guard Set(([room.name] + room.aliases).map { $0.lowercased() }).count == room.aliases.count + 1 else {
            throw wrong("an alias stands twice, or is the room's own name", "Give each once")
        }
        guard (1...maximumDevices).contains(room.devices.count) else {
            throw wrong("a room has 1 to \(maximumDevices) devices", "Name its devices, as “router devices” lists them")
        }
        guard room.devices.allSatisfy({ !$0.isEmpty && $0.utf8.count <= maximumDeviceName && isPlain($0) }) else {
            throw wrong(
                "a device's name is empty, too long, or no plain text", "Use names as “router devices” lists them")
        }
        guard offsets.contains(room.offsetMilliseconds) else {
            throw wrong("an offset of \(room.offsetMilliseconds) ms is out of range", "Choose from -5000 to 5000 ms")
        }
        if let curve = room.volumeCurve {
            guard curve.isSound, curve != .airplay else {
                throw wrong(
                    "the volume curve “\(curve)” is none that a room can have",
                    "Write linear, “decibel 50 taper 2” or “table 0 5 20 50 100”")
            }
        }
        if let quiet = room.quietHours {
            let day = 0..<1440
            guard day.contains(quiet.from), day.contains(quiet.to), quiet.from != quiet.to else {
                throw wrong("the quiet hours are none of a day", "Write them as “22:00-07:00 at 30 %”")
            }
        }
        return room
    }

    static func checked(_ wanted: RoomGroup) throws -> RoomGroup {
        var group = wanted
        group.name = try name(group.name, "a group")
        guard (1...RoomRules.maximumDevices).contains(group.rooms.count) else {
            throw wrong("a group has 1 to \(maximumDevices) rooms", "Name its rooms")
        }
        guard group.trims.values.allSatisfy({ (0...1).contains($0) }) else {
            throw wrong("a trim is out of range", "Choose from 0 to 1")
        }
        return group
    }

    private static func name(_ text: String, _ what: String) throws -> String {
        let name = text.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
        guard !name.isEmpty, name.count <= maximumName, name.utf8.count <= maximumDeviceName, isPlain(name) else {
            throw wrong("the name of \(what) has 1 to \(maximumName) characters, all of them plain text", "Shorten it")
        }
        guard !name.hasPrefix("@") else {
            throw wrong("the name of \(what) may not begin with @, which names groups", "Choose another name")
        }
        return name
    }

    /// No line breaks or other control characters.
    private static func isPlain(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
    }

    private static func wrong(_ message: String, _ hint: String) -> RouterError {
        RouterError(.configuration, message, hint: hint, scope: .command)
    }
}

extension Room {
    func isCalled(_ name: String) -> Bool {
        let wanted = name.lowercased()
        return self.name.lowercased() == wanted || aliases.contains { $0.lowercased() == wanted }
    }
}

extension RoomGroup {
    /// What means this group and no room.
    var selector: String { "@group:\(name)" }

    func has(_ room: String) -> Bool { rooms.contains { $0.lowercased() == room.lowercased() } }

    mutating func remove(_ room: String) {
        rooms.removeAll { $0.lowercased() == room.lowercased() }
        trims = trims.filter { $0.key.lowercased() != room.lowercased() }
    }

    mutating func rename(_ old: String, to new: String) {
        rooms = rooms.map { $0.lowercased() == old.lowercased() ? new : $0 }
        trims = Dictionary(
            trims.map { ($0.key.lowercased() == old.lowercased() ? new : $0.key, $0.value) },
            uniquingKeysWith: { first, _ in first })
    }
}
