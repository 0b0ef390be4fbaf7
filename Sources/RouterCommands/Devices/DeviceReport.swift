import RouteModel

/// Tells people about devices: why there is none, and all that is known of one.
struct DeviceReport {
    let context: VerbContext

    func sayWhyEmpty(_ list: RouteList, app: String? = nil, found: Int = 0) {
        let console = context.console
        if let app, found > 0 {
            console.err(
                "No receiver that can run \(app): of \(found) that \(found == 1 ? "is" : "are") there, none says so.")
            return
        }
        console.err("No receivers.")
        for state in list.discovery where state.status == .unavailable {
            console.err(Console.clean("  \(state.source): \(state.message ?? "not available")"))
            if let hint = state.hint { console.err(Console.clean("  hint: \(hint)")) }
            return
        }
        console.err("  Nothing answered on this network. Check that a receiver is on and in the same network;")
        console.err("  multicast does not cross routers, guest Wi-Fi or most containers.")
        console.err("  hint: Name one directly, such as: router devices --device cast://192.168.1.21")
    }

    func describe(_ route: Route, withCapabilities: Bool = false) {
        let console = context.console
        console.out(console.styled(Console.clean(route.name), .bold) + "  " + console.styled(route.id.rawValue, .dim))
        let kind = [route.model, route.kind.rawValue, route.deviceType.rawValue, route.presence.rawValue]
        console.out("  " + kind.compactMap { $0 }.map(Console.clean).joined(separator: ", "))
        for endpoint in route.endpoints {
            let access = endpoint.access.words.map { ", \($0)" } ?? ""
            // Beside the way to play by URL, a stream is never chosen by itself.
            let isAsked = endpoint.protocol == .castStreaming && route.endpoints.contains { $0.protocol == .cast }
            let asked = isAsked ? ", when asked for: --via \(ViaPreference.castStreaming.rawValue)" : ""
            console.out("  \(endpoint.protocol.displayName) at \(Console.clean(endpoint.address))\(access)\(asked)")
            if case .unavailable(let reason) = endpoint.capabilities[.playAudioStream] {
                console.out("    \(Console.clean(reason))")
            }
        }
        if let busy = route.busyWith { console.out("  playing now: \(Console.clean(busy))") }
        let questions: [(RouteCapability, String)] = [
            (.continuesWithoutSender, "goes on after the sender has gone"),
            (.acceptsManySenders, "takes several senders at once"),
            (.playsSenderOnlyFiles, "plays files of this machine"),
            (.observableInBackground, "can be watched in the background"),
        ]
        for (capability, words) in questions {
            console.out("  \(words): \(Self.words(route.capabilities[capability]))")
        }
        guard withCapabilities else { return }
        let others = RouteCapability.allCases.filter { capability in !questions.contains { $0.0 == capability } }
        let able = others.filter { route.capabilities.has($0) }.map(\.rawValue)
        console.out("  can: \(able.isEmpty ? "nothing that is known" : able.joined(separator: ", "))")
        for capability in others {
            guard case .unavailable(let reason) = route.capabilities[capability] else { continue }
            console.out("  not now: \(capability.rawValue) (\(Console.clean(reason)))")
        }
        console.out("  in time with others: \(route.capabilities.sync.rawValue)")
    }

    private static func words(_ state: CapabilityState) -> String {
        switch state {
        case .available: "yes"
        case .unavailable(let reason): "not now (\(Console.clean(reason)))"
        case .unsupported: "no"
        case .unknown: "not known"
        }
    }
}
