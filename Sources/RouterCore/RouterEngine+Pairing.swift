import RouteBackend
import RouteModel

/// Pairings under way and those that were made.
extension RouterEngine {
    /// Nanoseconds that a device is kept waiting for its code.
    static let pairingNanoseconds: Int64 = 300_000_000_000

    /// One that waits for its code.
    struct PairingUnderWay {
        var flow: any PairingFlow
        var progress: PairingProgress
        var route: RouteID
        /// A call is under way: the flow takes one at a time.
        var busy = false
    }

    public func startPairing(_ device: String) async throws -> PairingProgress {
        let route = try await oneRoute(device)
        for (id, other) in pairingsUnderWay where other.route == route.id {
            await drop(id, Self.over("somebody began to pair \(other.progress.device) anew"))
        }
        let flow = try await pairingFlow(route)
        let step: PairingStep
        do {
            step = try await flow.begin()
        } catch {
            await flow.end()
            throw RouterError(wrapping: error)
        }
        let id = Self.pairingID()
        var progress = PairingProgress(id: id, device: flow.endpoint.name, kind: flow.kind, state: .waiting, prompt: "")
        switch step {
        case .needsCode(let prompt):
            progress.prompt = prompt
            pairingsUnderWay[id] = PairingUnderWay(flow: flow, progress: progress, route: route.id)
            let clock = clock
            let timeout = RouterError(
                .timeout, "nobody gave \(flow.endpoint.name) its code within five minutes", hint: "Begin it again",
                scope: .route)
            addJob { [weak self] in
                guard (try? await clock.sleep(nanoseconds: Self.pairingNanoseconds)) != nil else { return }
                await self?.drop(id, timeout)
            }
        case .done(let credentials):
            await flow.end()
            try await keep(credentials, of: flow)
            progress.state = .done
            progress.prompt = Self.done(flow.endpoint)
        }
        tell(progress)
        return progress
    }

    public func finishPairing(_ id: String, code: String) async throws -> PairingProgress {
        guard let pairing = pairingsUnderWay[id] else { throw Self.noneWaits(id) }
        guard !pairing.busy else {
            throw RouterError(
                .routeBusy, "somebody else gives a code to \(pairing.progress.device) just now",
                hint: "Wait for what comes of it", scope: .route)
        }
        pairingsUnderWay[id]?.busy = true
        defer { pairingsUnderWay[id]?.busy = false }
        do {
            switch try await pairing.flow.supply(Secret(code)) {
            case .needsCode(let prompt): return waiting(id, pairing, prompt)
            case .done(let credentials):
                try await keep(credentials, of: pairing.flow)
                pairingsUnderWay[id] = nil
                await pairing.flow.end()
                var progress = pairing.progress
                progress.state = .done
                progress.prompt = Self.done(pairing.flow.endpoint)
                tell(progress)
                return progress
            }
        } catch {
            let error = RouterError(wrapping: error)
            guard error.code == .authFailed else {
                await drop(id, error)
                throw error
            }
            // The device may show another code now; where it waits for none any more, that is the end of it.
            do {
                if case .needsCode(let prompt) = try await pairing.flow.begin() { _ = waiting(id, pairing, prompt) }
            } catch let next {
                await drop(id, RouterError(wrapping: next))
                var error = error
                error.causes.append(RouterError(wrapping: next).message)
                throw error
            }
            throw error
        }
    }

    public func cancelPairing(_ id: String) async throws {
        guard pairingsUnderWay[id] != nil else { throw Self.noneWaits(id) }
        await drop(id, Self.over("it was called off"))
    }

    public func pairings() async throws -> [PairingRecord] { try await store.pairings() }

    @discardableResult
    public func unpair(_ device: String) async throws -> Notice? {
        let records = try await store.pairings()
        // One that is not there can be forgotten too, by the name it had.
        let named = records.filter { $0.name.lowercased() == device.lowercased() }
        let route: Route?
        do {
            route = try await oneRoute(device)
        } catch  where named.count == 1 {
            route = nil
        } catch let error as RouterError where error.code == .routeNotFound || records.isEmpty {
            throw Self.neverPaired(device, records)
        }
        guard let route else {
            try await store.removePairing(forAnyOf: named[0].keys)
            return Self.untold(named[0].name, "it is not there", route: nil)
        }
        var told: RouterError?
        var found = false
        for endpoint in route.endpoints {
            guard let credentials = try await store.credentials(forAnyOf: endpoint.strongKeys) else { continue }
            found = true
            do {
                var options = await pairingOptions(endpoint)
                options.credentials = credentials
                try await provider(of: endpoint)?.unpair(endpoint, options: options)
            } catch {
                told = RouterError(wrapping: error)
            }
            try await store.removePairing(forAnyOf: endpoint.strongKeys)
        }
        guard found else { throw Self.neverPaired(route.name, records) }
        await readmit(route)
        return told.map { Self.untold(route.name, $0.message, route: route.id) }
    }

    public func forgetDevice(_ device: String) async throws -> Notice? {
        let there: Route?
        do {
            there = try await oneRoute(device)
        } catch let error as RouterError where error.code == .routeNotFound || error.code == .dependencyMissing {
            there = nil
        }
        if let there {
            for session in await sessions() where session.connection != .ended && session.connection != .failed {
                guard session.members.contains(where: { $0.route == there.id }) else { continue }
                throw RouterError(
                    .routeBusy, "\(there.name) plays just now",
                    hint: "Stop it first: router stop --room \"\(there.name)\"", retry: .afterUserAction)
            }
        }
        let name = there?.name ?? device
        let isPaired = try await store.pairings().contains { record in
            record.name.lowercased() == name.lowercased()
                || there?.endpoints.contains { !Set($0.strongKeys).isDisjoint(with: record.keys) } == true
        }
        let notice = isPaired ? try await unpair(device) : nil
        for endpoint in there?.endpoints ?? [] { try await store.forgetFailure(of: endpoint.id) }
        let wasKnown = try await store.forgetRoute(there?.id, name: name)
        if let there { drop(there.id) }
        guard wasKnown || isPaired || there != nil else {
            throw RouterError(
                .routeNotFound, "nothing is known of a device called “\(device)”",
                hint: "Run “router devices” to see what there is", scope: .route)
        }
        return notice
    }

    private static func neverPaired(_ name: String, _ records: [PairingRecord]) -> RouterError {
        RouterError(
            .routeNotFound, "no device called “\(name)” was paired", hint: "Run “router pair list” to see what was",
            scope: .route, candidates: records.map(\.name))
    }

    private static func untold(_ name: String, _ reason: String, route: RouteID?) -> Notice {
        Notice(
            .warning, "\(name) could not be told that it is forgotten here: \(reason)",
            hint: "Remove this sender in the device's own settings", route: route)
    }

    // MARK: -

    private static func done(_ endpoint: Endpoint) -> String { "\(endpoint.name) knows this router now" }

    private static func pairingID() -> String {
        var generator = SystemRandomNumberGenerator()
        let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
        return "pr-" + String(repeating: "0", count: 16 - digits.count) + digits
    }

    private func waiting(_ id: String, _ pairing: PairingUnderWay, _ prompt: String) -> PairingProgress {
        var progress = pairing.progress
        progress.prompt = prompt
        // Meanwhile somebody may have called it off.
        guard pairingsUnderWay[id] != nil else { return progress }
        pairingsUnderWay[id]?.progress = progress
        tell(progress)
        return progress
    }

    /// Ends one that waits, and tells why.
    private func drop(_ id: String, _ reason: RouterError) async {
        guard let pairing = pairingsUnderWay.removeValue(forKey: id) else { return }
        var progress = pairing.progress
        progress.state = .failed
        progress.prompt = "It waits for no code any more: \(reason.message)"
        progress.error = reason
        tell(progress)
        await pairing.flow.end()
    }

    private static func noneWaits(_ id: String) -> RouterError {
        RouterError(
            .routeNotFound, "no pairing “\(id)” waits for a code",
            hint: "It waits five minutes at most: begin it again", scope: .route)
    }

    private static func over(_ why: String) -> RouterError {
        RouterError(.cancelled, why, hint: "Begin it again", scope: .route)
    }

    private func keep(_ credentials: DeviceCredentials, of flow: any PairingFlow) async throws {
        let endpoint = flow.endpoint
        try await store.savePairing(
            PairingRecord(
                name: endpoint.name, kind: flow.kind, keys: endpoint.strongKeys, madeAt: wallSeconds()),
            credentials: credentials)
        if let route = knownRoute(of: endpoint) { await readmit(route) }
    }

    private func oneRoute(_ device: String) async throws -> Route {
        let rooms = try await targets([device])
        let routes = rooms.flatMap(\.routes).compactMap { route($0) }
        guard routes.count == 1 else {
            throw RouterError(
                .routeAmbiguous, "\(device) is \(routes.count) devices, and each is paired by itself",
                hint: "Name one of them", scope: .route, candidates: routes.map(\.name))
        }
        return routes[0]
    }

    /// By the first of the device's ways that has a pairing: those that ask for one come first.
    private func pairingFlow(_ route: Route) async throws -> any PairingFlow {
        var refusal: RouterError?
        let ordered = route.endpoints.filter { $0.access != .open } + route.endpoints.filter { $0.access == .open }
        for endpoint in ordered {
            guard let provider = provider(of: endpoint) else { continue }
            do {
                return try await provider.pairing(with: endpoint, options: await pairingOptions(endpoint))
            } catch {
                let error = RouterError(wrapping: error)
                guard error.code == .unsupported else { throw error }
                refusal = refusal ?? error
            }
        }
        throw refusal
            ?? RouterError(.unsupported, "\(route.name) needs no pairing", hint: "Just play to it", scope: .route)
    }

    private func pairingOptions(_ endpoint: Endpoint) async -> OpenOptions {
        let (store, name) = (store, endpoint.name)
        return OpenOptions(
            phase: { [weak self] in self?.tellPhase("\(name): \($0)") },
            learnt: (try? await store.learnt(endpoint: endpoint.id, firmware: endpoint.firmware)) ?? [:],
            learn: { fact, value in
                try? await store.learn(fact, value: value, endpoint: endpoint.id, firmware: endpoint.firmware)
            },
            senderName: senderName, identity: try? await store.identity())
    }
}
