import RouteModel

extension Route: ListDisplayable {
    static var header: [String] { ["NAME", "KIND", "VIA", "STATE", "MODEL", "ADDRESS", "ID"] }

    var row: [String] {
        let via = families.map(\.displayName).joined(separator: ", ")
        let lock = access.words.map { " (\($0))" } ?? ""
        let state = busyWith.map { "plays \($0)" } ?? presence.rawValue
        return [
            name, deviceType == .unknown ? kind.rawValue : deviceType.rawValue, via, state + lock, model ?? "",
            endpoints.first?.address ?? "", id.rawValue,
        ]
    }

    var quietValue: String { id.rawValue }
}

extension RouteAccess {
    /// What a person has to know of it; nothing where everybody is let in.
    var words: String? {
        switch self {
        case .open: nil
        case .password: "has a password"
        case .pin, .pairingNeeded: "to be paired"
        case .paired: "paired"
        case .denied: "lets us in no more"
        }
    }
}
