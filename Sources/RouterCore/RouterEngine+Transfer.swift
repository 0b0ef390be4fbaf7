import RouteBackend
import RouteModel

/// A device that was found to play something of ours.
struct FoundMedia: Sendable {
    var route: RouteID
    var name: String
    var endpoint: Endpoint
    /// What its session is joined with.
    var rejoin: String
    var volumeLimit: VolumePosition?
    var offsetNanoseconds: Int64
}

/// Stream transfer (C6): by us, and by somebody else.
extension RouterEngine {
    /// How long ago a record may have changed for its device to be asked what it plays.
    static let recentNanoseconds: Int64 = 10_000_000_000
    /// How long one device may take to say what it plays.
    static let findNanoseconds: Int64 = 3_000_000_000
    /// Devices that are asked in one search.
    static let maximumAsked = 8

    public func transfer(session id: SessionID?, to rooms: [String]) async throws -> TransferResult {
        guard !rooms.isEmpty else {
            throw RouterError(
                .configuration, "no room was named to move it to", hint: "Name one, such as --to Kitchen",
                scope: .command)
        }
        let session = try chosenSession(id)
        let source = try await session.transferSource()
        let targets = try await targets(rooms)
        let choices = try await choices(for: PlayRequest(what: [], rooms: rooms), rooms: targets, first: source.item)
        let members = try choices.map { choice, room in
            guard choice.chosen != nil else { throw Self.nothingUsable(choice, via: .auto) }
            guard !source.routes.contains(choice.route) else {
                throw RouterError(
                    .routeBusy, "it plays in \(choice.name) already", hint: "Name a room where it does not play yet",
                    scope: .command)
            }
            return Member(choice: choice, room: room)
        }
        let losses = source.losses(by: choices.compactMap(\.choice.chosen))
        // Another session of ours that plays there gives way, as it does to `play`.
        await release(Set(members.map(\.route)))
        let moved = try await session.move(to: members)
        let names = members.map(\.name)
        let lost = losses.isEmpty ? "" : " (\(losses.joined(separator: ", ")))"
        tell(
            Notice(
                .info,
                "moved from \(source.rooms.joined(separator: ", ")) to \(names.joined(separator: ", "))\(lost)"))
        let snapshot = await session.snapshot()
        return TransferResult(
            from: source.rooms, to: names, method: moved.method, title: snapshot.currentItem?.title ?? "",
            position: moved.position, losses: losses, session: snapshot)
    }

    /// A device not of these routes that plays one of these items by now. Only devices that seem busy, or whose record
    /// has just changed, are asked; and those without a record, that a person has named.
    func find(_ items: Set<MediaToken>, notOn routes: Set<RouteID>) async -> FoundMedia? {
        var asked: [EndpointID: Endpoint] = [:]
        func fresh() -> [(Route, Endpoint)] {
            candidates(notOn: routes).filter { asked[$0.1.id] != $0.1 }
        }
        var left = Self.maximumAsked
        // Where there is no other device at all, nobody is kept waiting.
        while left > 0, hasOthers(than: routes) {
            let wanted = Array(fresh().prefix(left))
            left -= wanted.count
            for (_, endpoint) in wanted { asked[endpoint.id] = endpoint }
            if let found = await ask(wanted, items) { return found }
            // A device's record changes a moment after what it plays.
            guard isDiscovering, fresh().isEmpty else { return nil }
            await waitForRoutes { !fresh().isEmpty }
            if fresh().isEmpty { return nil }
        }
        return nil
    }

    private func hasOthers(than routes: Set<RouteID>) -> Bool {
        knownRoutes.subtracting(routes).contains { id in
            route(id)?.endpoints.contains { $0.capabilities.has(.acceptsManySenders) } ?? false
        }
    }

    private func candidates(notOn routes: Set<RouteID>) -> [(Route, Endpoint)] {
        knownRoutes.subtracting(routes).sorted().compactMap { route($0) }.flatMap { route in
            route.endpoints
                .filter { endpoint in
                    endpoint.capabilities.has(.acceptsManySenders) && endpoint.capabilities.has(.playURL)
                        && (endpoint.busyWith != nil || endpoint.origin == .stated || changedLately(endpoint.id))
                }
                .map { (route, $0) }
        }
    }

    /// The first device that plays one of these; all are asked at once.
    private func ask(_ devices: [(Route, Endpoint)], _ items: Set<MediaToken>) async -> FoundMedia? {
        let environment = environment(for: .random())
        let rooms = configuredRooms
        return await withTaskGroup(of: FoundMedia?.self) { group in
            for (route, endpoint) in devices {
                guard let provider = environment.provider(endpoint) else { continue }
                let room = rooms.first { $0.routes.contains(route.id) || $0.devices.contains(route.name) }
                group.addTask {
                    let rejoin = await provider.find(
                        items, on: endpoint, within: Self.findNanoseconds,
                        options: OpenOptions(senderName: environment.senderName))
                    return rejoin.map { rejoin in
                        FoundMedia(
                            route: route.id, name: room?.name ?? route.name, endpoint: endpoint, rejoin: rejoin,
                            volumeLimit: room?.volumeLimit,
                            offsetNanoseconds: Int64(room?.offsetMilliseconds ?? 0) * 1_000_000)
                    }
                }
            }
            for await case let found? in group {
                group.cancelAll()
                return found
            }
            return nil
        }
    }
}
