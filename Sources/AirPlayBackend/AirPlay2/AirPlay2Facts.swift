import AirPlay
import RouteModel

/// What an AirPlay 2 receiver says of itself, by its record and later by `/info`, as far as playing depends on it. Pure
/// (`Protocols/airplay/README.md`, “Choice”).
struct AirPlay2Facts: Sendable, Hashable {
    /// Nil where it has not been said.
    var features: AirPlayFeatures?
    var flags: AirPlayStatusFlags
    var passwordRequired: Bool
    var model: String?
    /// The first number of its system's version.
    var systemVersion: Int?

    init(txt: [String: String]) {
        features =
            (txt["features"] ?? txt["ft"]).flatMap(AirPlayFeatures.init(text:))
            ?? txt["fex"].flatMap(AirPlayFeatures.init(extendedText:))
        flags = (txt["flags"] ?? txt["sf"]).flatMap(AirPlayStatusFlags.init(text:)) ?? []
        let password = txt["pw"]?.lowercased()
        passwordRequired = flags.contains(.passwordRequired) || password == "1" || password == "true"
        model = txt["model"] ?? txt["am"]
        systemVersion = txt["osvers"].flatMap { Int($0.prefix { $0.isNumber }) }
    }

    /// With what the device itself answers when it is asked: that is newer than its record.
    func updated(by info: AirPlay2Info) -> AirPlay2Facts {
        var facts = self
        facts.features = info.features ?? features
        facts.model = info.model ?? model
        if let told = info.statusFlags {
            facts.flags = told
            facts.passwordRequired = passwordRequired || told.contains(.passwordRequired)
        }
        return facts
    }

    /// Without AirPlay 2 a record speaks of video and photos; audio has a record of its own.
    var videoOnly: Bool {
        guard let features else { return false }
        return !features.supportsAirPlay2 && !features.isDisjoint(with: [.videoV1, .photo])
    }

    /// What it takes to be let in, as far as the record says.
    var access: RouteAccess {
        if flags.contains(.oneTimePairingRequired) { return .pairingNeeded }
        if flags.contains(.pinRequired) { return .pin }
        return passwordRequired ? .password : .open
    }

    /// How it is paired with when somebody wants to be known to it for good.
    var pairing: PairingKind {
        let olderOnly =
            features.map { $0.contains(.legacyPairing) && $0.isDisjoint(with: [.homeKitPairing, .transientPairing]) }
            ?? false
        if features?.supportsAirPlay2 ?? true, !olderOnly { return .pin }
        return flags.contains(.oneTimePairingRequired) ? .legacyPin : .legacy
    }

    /// Whether it lets in whoever asks, for one connection.
    var allowsTransient: Bool {
        guard flags.isDisjoint(with: [.pinRequired, .oneTimePairingRequired]) else { return false }
        guard let features else { return true }
        return !features.isDisjoint(with: [.homeKitPairing, .transientPairing])
    }

    /// Whether it follows a PTP clock; true where it has not said.
    var takesPTP: Bool { features?.contains(.ptp) ?? true }

    /// Streams that it keeps ahead of their time need PTP.
    var takesBuffered: Bool { features.map { $0.contains(.bufferedAudio) && $0.contains(.ptp) } ?? false }

    /// Whether it has a stream for remote control, and lets us in to it as we are let in to play: Apple TVs whoever is
    /// paired, HomePods everybody (`Protocols/mrp`, “Where it runs”).
    func takesMediaRemote(_ admission: AirPlay2Admission) -> Bool {
        guard let model else { return false }
        switch admission {
        case .verify: return model.hasPrefix("AppleTV") && systemVersion ?? 13 >= 13
        case .transient(let password): return model.hasPrefix("AudioAccessory") && password == nil
        case .verifyLegacy, .openLegacy: return false
        }
    }

    /// What it draws: all, where it has not said.
    var metadataKinds: Set<RAOPAdvertisement.MetadataKind> {
        guard let features else { return Set(RAOPAdvertisement.MetadataKind.allCases) }
        var kinds: Set<RAOPAdvertisement.MetadataKind> = []
        if features.contains(.text) { kinds.insert(.text) }
        if features.contains(.artwork) { kinds.insert(.artwork) }
        if features.contains(.progress) { kinds.insert(.progress) }
        return kinds
    }
}

/// Which device of several a receiver plays as one with, as its record says.
///
/// A stereo pair is two devices that share a tight-sync id; both are sent to. Others are in a group that somebody else
/// made while they play.
struct AirPlayGroup: Sendable, Hashable {
    /// Keys of `Endpoint.facts` beside those of the record, which are all in lower case.
    enum Fact {
        static let id = "groupID"
        /// “1” on the device that speaks for the group.
        static let leader = "groupLeader"
        static let name = "groupName"
    }

    var id: String
    var leader: Bool
    var name: String?
    var stereoPair: Bool

    /// Nil for a device that is by itself.
    init?(txt: [String: String]) {
        func value(_ key: String) -> String? { txt[key].flatMap { $0.isEmpty ? nil : $0 } }
        let leads = txt["igl"] == "1"
        name = value("gpn")
        if let tight = value("tsid") {
            id = tight.lowercased()
            leader = leads
            stereoPair = true
        } else if let group = value("pgid") ?? value("gid"), (txt["pgcgl"] ?? txt["gcgl"]) == "1",
            group.lowercased() != txt["pi"]?.lowercased()
        {
            // A device by itself has a group id too, with nobody to lead it.
            id = group.lowercased()
            leader = leads
            stereoPair = false
        } else {
            return nil
        }
    }

    var facts: [String: String] {
        var facts = [Fact.id: id, Fact.leader: leader ? "1" : "0"]
        facts[Fact.name] = name
        return facts
    }
}
