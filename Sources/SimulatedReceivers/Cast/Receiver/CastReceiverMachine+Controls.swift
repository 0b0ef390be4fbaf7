import CastV2

/// What people and other senders do to the device.
extension CastReceiverMachine {
    /// Deeds that are not the machine's but of the sockets are not known here.
    mutating func perform(_ control: SimulatedCastControl, at now: Int64) {
        switch control {
        case .pressPlay: changeMedia { $0.remoteControl(play: true, at: now) }
        case .pressPause: changeMedia { $0.remoteControl(play: false, at: now) }
        case .turnVolume(let level): volumeTurned(to: level)
        case .mute(let muted):
            setVolume(level: nil, muted: muted)
            broadcastStatus()
        case .takeOver(let name): anotherAppTakesOver(name: name, at: now)
        case .crash:
            note("crashed")
            stopApp(at: now)
            broadcastStatus()
        case .dropConnections: dropConnections()
        case .allowLaunch: decideLaunch(allowed: true, at: now)
        case .refuseLaunch: decideLaunch(allowed: false, at: now)
        case .mediaError(let code):
            changeMedia { if $0.isActive { $0.fail(code: code, reason: "a fault that was asked for", at: now) } }
        case .standBy(let standBy):
            isStandBy = standBy
            note("standBy", ["standBy": .bool(standBy)])
            broadcastStatus()
        case .memberVolume(let id, let level): setMember(id, level: level, muted: nil, byMember: true)
        case .addMember(let member): add(member)
        case .removeMember(let id): removeMember(id)
        case .otherSender(let deed): otherSender(deed, at: now)
        case .restart, .sleep, .wake, .moveLeader: break
        }
    }

    // MARK: The other sender

    private static let otherSenderID = "sender-other"

    /// Says it as a sender on another TCP connection would.
    private mutating func otherSender(_ deed: SimulatedCastOtherSender, at now: Int64) {
        let id = Self.otherSender
        if connections[id] == nil { connections[id] = Connection(lastHeard: now, lastPing: now) }
        join(CastAddress.platformReceiver, at: now)
        note("otherSender", ["does": .string("\(deed)")])
        switch deed {
        case .deviceVolume(let level):
            return say(["type": "SET_VOLUME", "volume": ["level": .number(level)]], CastNamespace.receiver, at: now)
        case .launch(let app): return say(["type": "LAUNCH", "appId": .string(app)], CastNamespace.receiver, at: now)
        case .stopApp: return say(["type": "STOP"], CastNamespace.receiver, at: now)
        default: break
        }
        guard let app, let media = app.media else {
            return note("dropped", ["why": "no media app for the other sender"])
        }
        join(app.transportID, at: now)
        guard var request = Self.request(deed, media) else {
            return note("dropped", ["why": "nothing there for the other sender"])
        }
        request["mediaSessionId"] = media.mediaSessionID.map { .integer($0) }
        say(request, CastNamespace.media, to: app.transportID, at: now)
    }

    private mutating func join(_ destination: String, at now: Int64) {
        let link = Link(sender: Self.otherSenderID, destination: destination)
        connections[Self.otherSender]?.links[link] = LinkState(kind: .strong, lastUsed: now)
    }

    private mutating func say(
        _ fields: [String: JSONValue], _ namespace: String, to destination: String = CastAddress.platformReceiver,
        at now: Int64
    ) {
        let number = (connections[Self.otherSender]?.messages ?? 0) + 1
        let request = JSONValue.object(fields.merging(["requestId": .integer(number)]) { $1 })
        let message = CastMessage(
            sourceID: Self.otherSenderID, destinationID: destination, namespace: namespace, payload: .text(request.text)
        )
        receive(message, on: Self.otherSender, at: now)
    }

    /// The request for a deed; nil when there is no such item.
    private static func request(_ deed: SimulatedCastOtherSender, _ media: CastMediaMachine) -> [String: JSONValue]? {
        func item(_ index: Int) -> JSONValue? {
            media.items.indices.contains(index) ? .integer(media.items[index].id) : nil
        }
        func information(_ url: String, _ contentType: String) -> JSONValue {
            ["contentId": .string(url), "contentType": .string(contentType), "streamType": "BUFFERED"]
        }
        switch deed {
        case .load(let url, let contentType): return ["type": "LOAD", "media": information(url, contentType)]
        case .insert(let url, let contentType, let before):
            var request: [String: JSONValue] = [
                "type": "QUEUE_INSERT", "items": [["media": information(url, contentType)]],
            ]
            request["insertBefore"] = before.flatMap(item)
            return request
        case .remove(let index): return item(index).map { ["type": "QUEUE_REMOVE", "itemIds": [$0]] }
        case .move(let from, let to):
            return item(from).map {
                var request: [String: JSONValue] = ["type": "QUEUE_REORDER", "itemIds": [$0]]
                request["insertBefore"] = to.flatMap(item)
                return request
            }
        case .jump(let steps): return ["type": "QUEUE_UPDATE", "jump": .integer(steps)]
        case .shuffle: return ["type": "QUEUE_UPDATE", "shuffle": true]
        case .repeatMode(let mode): return ["type": "QUEUE_UPDATE", "repeatMode": .string(mode)]
        case .play: return ["type": "PLAY"]
        case .pause: return ["type": "PAUSE"]
        case .stop: return ["type": "STOP"]
        case .seek(let position): return ["type": "SEEK", "currentTime": .number(position)]
        case .streamVolume(let level): return ["type": "SET_VOLUME", "volume": ["level": .number(level)]]
        case .deviceVolume, .launch, .stopApp: return nil
        }
    }
}
