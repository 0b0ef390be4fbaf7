import CastV2

/// Groups: the multizone namespace and the volumes of the members (`Protocols/cast` section 13).
extension CastReceiverMachine {
    struct GroupMember: Sendable, Hashable {
        var member: SimulatedCastGroup.Member
        /// Its level relative to the group's, as it was when the group's was not 0.
        var share: Double

        init(_ member: SimulatedCastGroup.Member, groupLevel: Double) {
            self.member = member
            share = groupLevel > 0 ? member.level / groupLevel : 1
        }

        var wire: JSONValue {
            [
                "deviceId": .string(member.id), "name": .string(member.name),
                "capabilities": .integer(member.capabilities),
                "volume": ["level": .number(member.level), "muted": .bool(member.muted)],
            ]
        }
    }

    var isGroup: Bool { configuration.group != nil }

    mutating func multizoneRequest(_ json: JSONValue, _ asker: CastAsker) {
        switch json["type"]?.string {
        case "GET_STATUS":
            reply(multizoneStatus(requestID: asker.requestID), CastNamespace.multizone, asker)
        case "GET_CASTING_GROUPS":
            let answer: JSONValue = [
                "type": "CASTING_GROUPS", "requestId": .integer(asker.requestID),
                "status": ["groups": identity.groups],
            ]
            reply(answer, CastNamespace.multizone, asker)
        case "SET_DEVICE_VOLUME":
            let volume = json["volume"]
            guard let id = json["deviceId"]?.string, group.contains(where: { $0.member.id == id }),
                volume?["level"]?.double != nil || volume?["muted"]?.bool != nil
            else {
                note("refused", ["reason": "INVALID_PARAMS"])
                let answer: JSONValue = [
                    "type": "INVALID_REQUEST", "requestId": .integer(asker.requestID), "reason": "INVALID_PARAMS",
                ]
                return reply(answer, CastNamespace.multizone, asker)
            }
            setMember(id, level: volume?["level"]?.double, muted: volume?["muted"]?.bool, byMember: false)
            reply(multizoneStatus(requestID: asker.requestID), CastNamespace.multizone, asker)
        default: note("dropped", ["why": "unknown request", "namespace": .string(CastNamespace.multizone)])
        }
    }

    private func multizoneStatus(requestID: Int) -> JSONValue {
        guard isGroup else { return identity.multizoneStatus(requestID: requestID, volume: volume) }
        return [
            "type": "MULTIZONE_STATUS", "requestId": .integer(requestID),
            "status": [
                "devices": .array(group.map(\.wire)), "isMultichannel": false, "playbackSession": playbackSession,
            ],
        ]
    }

    private var playbackSession: JSONValue {
        guard let app, !app.isIdleScreen else { return [:] }
        return [
            "appAllowsGrouping": true, "isVideoContent": false,
            "streamTransferSupported": .bool(configuration.storesSessions),
        ]
    }

    private mutating func push(_ json: JSONValue) {
        broadcast(json, CastNamespace.multizone, from: CastAddress.platformReceiver)
    }

    mutating func pushPlaybackSession() {
        guard isGroup else { return }
        push(["type": "PLAYBACK_SESSION_UPDATED", "requestId": 0, "playbackSession": playbackSession])
    }

    // MARK: Volumes

    /// The group's volume changes: every member's changes in proportion.
    mutating func scaleMembers(to level: Double) {
        guard isGroup else { return }
        for index in group.indices {
            let old = group[index].member.level
            var new = min(1, group[index].share * level)
            // Devices multiply: what is at 0 stays there, and from a group at 0 nothing comes up.
            if configuration.group?.zeroStays == true { new = self.level > 0 ? min(1, old * level / self.level) : old }
            guard new != old else { continue }
            group[index].member.level = new
            tell(group[index])
        }
    }

    mutating func muteMembers(_ muted: Bool) {
        for index in group.indices where group[index].member.muted != muted {
            group[index].member.muted = muted
            tell(group[index])
        }
    }

    /// One member's own volume changes, and with it the group's, which is their mean.
    mutating func setMember(_ id: String, level: Double?, muted: Bool?, byMember: Bool) {
        guard let index = group.firstIndex(where: { $0.member.id == id }) else { return }
        if let level { group[index].member.level = min(1, max(0, level)) }
        if let muted { group[index].member.muted = muted }
        tell(group[index], toMember: !byMember)
        if !group.isEmpty {
            self.level = group.reduce(0) { $0 + $1.member.level } / Double(group.count)
            if muted != nil { self.muted = group.allSatisfy(\.member.muted) }
        }
        if self.level > 0 {
            for index in group.indices { group[index].share = group[index].member.level / self.level }
        }
        note("volume", ["level": .number(self.level), "muted": .bool(self.muted)])
        let gain = self.muted ? 0 : self.level
        changeMedia { $0.setDeviceGain(gain) }
        broadcastStatus()
    }

    private mutating func tell(_ changed: GroupMember, toMember: Bool = true) {
        note(
            "memberVolume",
            [
                "member": .string(changed.member.name), "level": .number(changed.member.level),
                "muted": .bool(changed.member.muted),
            ])
        push(["type": "DEVICE_UPDATED", "requestId": 0, "device": changed.wire])
        if toMember {
            actions.append(
                .member(id: changed.member.id, level: changed.member.level, muted: changed.member.muted))
        }
    }

    // MARK: Who is in it

    mutating func add(_ member: SimulatedCastGroup.Member) {
        guard isGroup, !group.contains(where: { $0.member.id == member.id }) else { return }
        let added = GroupMember(member, groupLevel: level)
        group.append(added)
        note("memberAdded", ["member": .string(member.name)])
        push(["type": "DEVICE_ADDED", "requestId": 0, "device": added.wire])
    }

    mutating func removeMember(_ id: String) {
        guard let index = group.firstIndex(where: { $0.member.id == id }) else { return }
        note("memberRemoved", ["member": .string(group[index].member.name)])
        group.remove(at: index)
        push(["type": "DEVICE_REMOVED", "requestId": 0, "deviceId": .string(id)])
    }

    /// The leader moved: all who come back hear who is there.
    mutating func leaderMoved() { push(multizoneStatus(requestID: 0)) }
}
