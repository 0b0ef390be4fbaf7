import RouteBackend

/// Receivers here that are members of a group here.
extension SimulatedCastReceiver {
    /// Where it listens now: a group's leader may have moved.
    public var endpoint: (host: String, port: Int) { (machine.identity.host, machine.identity.port) }

    /// This device becomes a member of a group: their volumes follow each other, and while the group plays, so does it.
    public func join(_ group: SimulatedCastReceiver) async {
        guard group !== self else { return }
        let member = SimulatedCastGroup.Member(
            id: configuration.deviceUUID, name: configuration.name, capabilities: configuration.capabilities,
            level: machine.level, muted: machine.muted)
        groups.append(group)
        await group.accept(member, self)
    }

    private func accept(_ member: SimulatedCastGroup.Member, _ receiver: SimulatedCastReceiver) {
        members[member.id] = receiver
        control(.addMember(member))
        tellPlace()
    }

    /// Members say which groups they are in.
    func tellPlace() {
        let place = SimulatedCastIdentity.GroupPlace(
            id: configuration.deviceUUID, name: configuration.name, host: machine.identity.host,
            port: machine.identity.port)
        for member in members.values {
            member.inputWriter.yield(
                .deed { machine, _ in
                    machine.identity.memberOf.removeAll { $0.id == place.id }
                    machine.identity.memberOf.append(place)
                })
        }
    }

    /// After anything that happened: a member's new volume for its groups, a group's new app for its members.
    func tellGroups() {
        if machine.level != toldLevel {
            toldLevel = machine.level
            for group in groups { group.control(.memberVolume(id: configuration.deviceUUID, level: machine.level)) }
        }
        guard !members.isEmpty, machine.runningApp != toldApp else { return }
        let app = machine.runningApp
        toldApp = app
        for member in members.values {
            member.inputWriter.yield(
                .deed { machine, _ in
                    machine.groupPlays = app
                    machine.note("groupPlays", ["app": app.map { .string($0) } ?? .null])
                })
        }
    }
}
