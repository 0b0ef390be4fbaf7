import RouteModel

/// What checking a scene has found.
public struct SceneCheck: Sendable {
    /// Nil where there are errors.
    public var scene: Scene?
    /// Of the scene and of those that it runs.
    public var diagnostics: [SceneDiagnostic]
    /// What it would do; nil where there are errors.
    public var plan: ScenePlan?
    /// Rooms that it has to itself, of those that are there; empty where no router was asked.
    public var rooms: Set<String> = []
}

/// Checks a scene against what is outside it: files, other scenes and, where there is a router, rooms and what they can
/// do (`interfaces.md` 2.2).
public struct SceneChecker: Sendable {
    private let files: SceneFiles

    public init(files: SceneFiles = .local) { self.files = files }

    /// - Parameter router: nil checks without rooms (`--offline`).
    public func check(_ request: SceneRequest, router: (any RouterControlling)? = nil) async -> SceneCheck {
        let (scene, diagnostics) = SceneParser.parse(request.text, path: request.path, values: request.values)
        guard let scene else { return SceneCheck(scene: nil, diagnostics: diagnostics) }
        var house: SceneHouse?
        var visit = SceneVisit(files: files, folder: request.workingDirectory)
        visit.diagnostics = diagnostics
        if let router {
            do {
                house = try await SceneHouse.look(router, settle: true)
            } catch {
                visit.diagnostics.append(
                    SceneDiagnostic(
                        .warning, "no-router", "rooms are not checked: \(RouterError(wrapping: error).message)",
                        path: request.path, span: SceneSpan(line: 1, column: 1), source: "",
                        help: "check it again when the router answers"))
            }
        }
        visit.house = house
        // A path such as a person gave it is often one from another folder than the scene's own.
        let file = request.path.split(separator: "/").last.map(String.init) ?? request.path
        let own = SceneFiles.absolute(request.path.hasPrefix("/") ? request.path : file, in: request.workingDirectory)
        visit.look(at: scene, text: request.text, trail: [own], prefix: "", depth: 0)
        let found = visit.diagnostics
        let isRight = !found.hasErrors
        return SceneCheck(
            scene: isRight ? scene : nil, diagnostics: found,
            plan: isRight ? ScenePlan(name: scene.name, path: scene.path, steps: visit.plan) : nil, rooms: visit.rooms)
    }
}

/// One walk through a scene and those that it runs.
private struct SceneVisit {
    let files: SceneFiles
    let folder: String
    var house: SceneHouse?
    var diagnostics: [SceneDiagnostic] = []
    var plan: [ScenePlan.Step] = []
    var rooms: Set<String> = []

    /// Of the scene that is looked at.
    private struct Place {
        var scene: Scene
        var source: SceneSource
        var resolved: [String: SceneHouse.Resolution]
        var trail: [String]
        var prefix: String
    }

    init(files: SceneFiles, folder: String) {
        self.files = files
        self.folder = folder
    }

    mutating func look(at scene: Scene, text: String, trail: [String], prefix: String, depth: Int) {
        let source = SceneSource(text, path: scene.path)
        var place = Place(scene: scene, source: source, resolved: [:], trail: trail, prefix: prefix)
        if house != nil { resolve(&place) }
        look(at: scene.steps, place, depth: depth)
        look(at: scene.finally, place, depth: depth)
    }

    private mutating func tell(
        _ severity: SceneDiagnostic.Severity, _ code: String, _ message: String, _ place: Place, _ span: SceneSpan,
        help: String?
    ) {
        guard diagnostics.takes(severity) else { return }
        let finding = SceneDiagnostic(
            severity, code, message, path: place.scene.path, span: span, source: place.source.line(span.line),
            help: help)
        if !diagnostics.contains(finding) { diagnostics.add(finding) }
    }

    // MARK: Targets

    private mutating func resolve(_ place: inout Place) {
        guard let house else { return }
        let awaited = Self.awaited(place.scene.steps + place.scene.finally)
        for target in place.scene.targets {
            do {
                let resolution = try house.resolve(target)
                place.resolved[target.name] = resolution
                switch resolution {
                case .places(let found) where !found.missing.isEmpty:
                    tell(
                        .warning, "absent", "\(SceneHouse.words(absent: found.missing)); its steps leave that out",
                        place,
                        target.span, help: "switch it on, or give the target “optional: true”")
                case .places: break
                case .absent(let why):
                    tell(.warning, "absent", "\(why); its steps would be skipped", place, target.span, help: nil)
                }
            } catch {
                let error = RouterError(wrapping: error)
                // One that is waited for, or asked after, may come.
                let isExpected = awaited.contains(target.name) || Self.isKnown(target, in: house)
                tell(
                    isExpected ? .warning : .error, isExpected ? "absent" : "unknown-room", error.message, place,
                    target.span, help: error.hint)
            }
        }
    }

    /// Whether its rooms are rooms that are only not there just now.
    private static func isKnown(_ target: SceneTarget, in house: SceneHouse) -> Bool {
        target.rooms.allSatisfy { (try? house.places($0)) != nil || $0 == "@active" }
    }

    private static func awaited(_ steps: [SceneStep]) -> Set<String> {
        steps.reduce(into: []) { result, step in
            for comparison in step.verb.condition?.comparisons ?? [] {
                if case .target(let name, .present) = comparison.subject { result.insert(name) }
            }
            for block in step.verb.blocks { result.formUnion(awaited(block.steps)) }
        }
    }

    // MARK: Steps

    private mutating func look(at steps: [SceneStep], _ place: Place, depth: Int) {
        for step in steps {
            let warnings = capabilities(step, place)
            plan.append(
                ScenePlan.Step(
                    id: place.prefix + step.id, verb: step.verb.name, path: place.scene.path, line: step.span.line,
                    depth: depth, target: target(step, place), command: step.words, expected: step.expected,
                    limit: step.timeout?.seconds, warnings: warnings))
            for warning in warnings {
                tell(.warning, "capability", warning, place, step.span, help: "choose another room or another way")
            }
            hold(step, place)
            media(step, place)
            call(step, place, depth: depth)
            for block in step.verb.blocks { look(at: block.steps, place, depth: depth + 1) }
            if case .fallback(let steps) = step.onError { look(at: steps, place, depth: depth + 1) }
        }
    }

    private func places(_ step: SceneStep, _ place: Place) -> [SceneHouse.Place] {
        step.targets.flatMap { name -> [SceneHouse.Place] in
            if case .places(let found) = place.resolved[name] { found.places } else { [] }
        }
    }

    /// The rooms that a step has to itself. An announcement comes over whatever plays, and leaves no trace.
    private mutating func hold(_ step: SceneStep, _ place: Place) {
        var names = step.targets
        switch step.verb {
        case .announce: return
        case .group, .transfer: names += step.verb.otherTargets
        default: break
        }
        for name in names {
            if case .places(let found) = place.resolved[name] { rooms.formUnion(found.places.map(\.name)) }
        }
    }

    private func target(_ step: SceneStep, _ place: Place) -> String? {
        let names = places(step, place).map(\.name)
        if !names.isEmpty { return names.joined(separator: ", ") }
        return step.targets.isEmpty ? nil : step.targets.joined(separator: ", ")
    }

    private func capabilities(_ step: SceneStep, _ place: Place) -> [String] {
        guard let house else { return [] }
        let wanted: (RouteCapability, String)
        switch step.verb {
        case .seek: wanted = (.seek, "seek")
        case .pause: wanted = (.pause, "pause")
        case .volume: wanted = (.volumeDevice, "set its volume")
        default: return []
        }
        var warnings: [String] = []
        for room in places(step, place) {
            for route in house.routes where room.routes.contains(route.id) {
                switch route.capabilities.states[wanted.0] {
                case .unsupported: warnings.append("\(room.name) cannot \(wanted.1)")
                case .unavailable(let reason): warnings.append("\(room.name) cannot \(wanted.1) now: \(reason)")
                // What a list of capabilities leaves out is not supported, but for volume, which sessions tell of.
                case nil where wanted.0 != .volumeDevice: warnings.append("\(room.name) cannot \(wanted.1)")
                default: break
                }
            }
        }
        return warnings
    }

    private mutating func media(_ step: SceneStep, _ place: Place) {
        let media: [String]
        switch step.verb {
        case .play(let play): media = play.media
        case .announce(let announcement): media = [announcement.media]
        case .queue(.append(let list)), .queue(.next(let list)), .queue(.replaceUpcoming(let list)): media = list
        default: return
        }
        for path in media where !SceneFiles.isURL(path) {
            let whole = SceneFiles.absolute(path, in: folder)
            if files.exists(whole) { continue }
            tell(
                .error, "missing-media", "there is no file or folder \(path)", place, step.span,
                help: "relative paths are taken from \(folder)")
        }
    }

    private mutating func call(_ step: SceneStep, _ place: Place, depth: Int) {
        guard case .runScene(let path, let values) = step.verb else { return }
        let whole = Self.standard(SceneFiles.absolute(path, in: folder))
        if let start = place.trail.firstIndex(where: { Self.standard($0) == whole }) {
            let names = (place.trail[start...] + [whole]).map { $0.split(separator: "/").last.map(String.init) ?? $0 }
            return tell(
                .error, "cycle", "the scene runs itself: \(names.joined(separator: " > "))", place, step.span,
                help: "use “repeat” to do steps again")
        }
        guard place.trail.count <= SceneLimits.nesting else {
            return tell(
                .error, "too-deep", "more than \(SceneLimits.nesting) scenes run each other", place, step.span,
                help: "put the steps into fewer scenes")
        }
        let text: String
        do {
            text = try files.read(whole)
        } catch {
            let error = RouterError(wrapping: error)
            return tell(.error, "missing-scene", error.message, place, step.span, help: error.hint)
        }
        let (scene, found) = SceneParser.parse(text, path: path, values: values)
        for finding in found where !diagnostics.contains(finding) { diagnostics.add(finding) }
        guard let scene else {
            let count = found.count { $0.severity == .error }
            return tell(
                .error, "invalid-scene", "the scene \(path) has \(count) \(count == 1 ? "error" : "errors")", place,
                step.span, help: "they are told here too")
        }
        look(
            at: scene, text: text, trail: place.trail + [whole], prefix: "\(place.prefix)\(step.id)>", depth: depth + 1)
    }

    /// Without `.` and `..`, so that two spellings of one path are one.
    private static func standard(_ path: String) -> String {
        var parts: [Substring] = []
        for part in path.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return "/" + parts.joined(separator: "/")
    }
}
