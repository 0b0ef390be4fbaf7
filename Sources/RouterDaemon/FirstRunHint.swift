import RouteModel
import RouterStore

/// What a person is told when the first device is found, and never again (C20).
public enum FirstRunHint {
    private static let name = "first-device"

    /// The hint, if this is the first time that there is a device. Whoever asks shows it: it is not given again. Without
    /// a store that can be written it is not given at all.
    public static func take(_ setup: RouterSetup, found routes: [Route]) async -> Notice? {
        guard let first = routes.first, let path = setup.storePath, setup.configuration.firstRunHint != "",
            let store = try? RouterStore(path: path), (try? await store.tellOnce(name)) == true
        else { return nil }
        if let text = setup.configuration.firstRunHint { return Notice(.info, text) }
        let pairs = first.access == .pin || first.access == .pairingNeeded
        return Notice(
            .info,
            pairs ? "“\(first.name)” can be played to once it knows this sender" : "“\(first.name)” can be played to",
            hint: "Try: router \(pairs ? "pair" : "play FILE --room") \"\(first.name)\". This is said once")
    }
}
