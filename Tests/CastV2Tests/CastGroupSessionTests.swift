import CastV2
import RouterTestKit
import Synchronization
import Testing

/// A group's members on the wire (C17), and what a device says of itself.
@Suite(.timeLimit(.minutes(1))) struct CastGroupSessionTests {
    /// A group of a kitchen at 0.8 and a hall at 0.2 that does as it is told.
    private func group(answering: Bool = true) async throws -> (ScriptedCastDevice, @Sendable () -> [String: Double]) {
        final class Levels: Sendable { let all = Mutex<[String: Double]>(["kitchen": 0.8, "hall": 0.2]) }
        let levels = Levels()
        let device = try await ScriptedCastDevice(app: .init(namespaces: [CastNamespace.media])) {
            message, json, device in
            let id = json["requestId"].int ?? 0
            if message.namespace == CastNamespace.media {
                device.say(
                    #"{"type":"MEDIA_STATUS","requestId":\#(id),"status":[{"mediaSessionId":1,"playerState":"PLAYING"}]}"#,
                    in: CastNamespace.media, from: "app")
                return true
            }
            guard message.namespace == CastNamespace.multizone else { return false }
            switch json["type"].string {
            case "GET_STATUS":
                let devices = levels.all.withLock { $0 }.sorted { $0.key < $1.key }.map { name, level in
                    #"{"deviceId":"\#(name)","name":"\#(name)","volume":{"level":\#(level),"muted":false}}"#
                }
                device.say(
                    #"{"type":"MULTIZONE_STATUS","requestId":\#(id),"status":{"devices":[\#(devices.joined(separator: ","))]}}"#,
                    in: CastNamespace.multizone)
            case "GET_CASTING_GROUPS":
                device.say(
                    #"{"type":"CASTING_GROUPS","requestId":\#(id),"status":{"groups":[{"deviceId":"g","name":"House"}]}}"#,
                    in: CastNamespace.multizone)
            case "SET_DEVICE_VOLUME":
                guard answering, let name = json["deviceId"].string else { return true }
                if let level = json["volume"]["level"].double { levels.all.withLock { $0[name] = level } }
                // Told by the news alone, with no request id.
                device.say(
                    #"{"type":"DEVICE_UPDATED","requestId":0,"device":{"deviceId":"\#(name)","volume":\#(json["volume"].text)}}"#,
                    in: CastNamespace.multizone, to: "*")
            default: break
            }
            return true
        }
        return (device, { levels.all.withLock { $0 } })
    }

    @Test("C17 a group turned to 0 and up again on the wire, each member as it was") func throughZero() async throws {
        let (device, levels) = try await group()
        let session = try await CastSession.connect(device)
        guard case .completed(.multizone(.status)) = await session.followGroup() else {
            Issue.record("no status")
            return
        }
        #expect(await session.current.groupVolumes.master == 0.8)
        for level in [0, 0.4] {
            guard case .completed = await session.setGroupVolume(level) else {
                Issue.record("not set")
                return
            }
        }
        #expect(levels() == ["kitchen": 0.4, "hall": 0.1])
        guard case .completed = await session.setMemberVolume("hall", to: 0.3) else {
            Issue.record("not set")
            return
        }
        #expect(levels() == ["kitchen": 0.4, "hall": 0.3])
        guard case .completed = await session.setMemberMuted("hall", true) else {
            Issue.record("not muted")
            return
        }
        #expect(await session.current.group?["hall"]?.volume?.muted == true)
        #expect(
            await session.setMemberVolume("attic", to: 1) == .failed(.invalidRequest(reason: "NO_SUCH_MEMBER")))
        #expect(try await session.castingGroups() == [CastCastingGroup(id: "g", name: "House")])
        await session.end(stopApp: false)
        await device.stop()
    }

    @Test("C17 somebody at one device, one that comes and one that goes") func news() async throws {
        let (device, _) = try await group()
        let session = try await CastSession.connect(device)
        _ = await session.followGroup()
        func tell(_ text: String) { device.say(text, in: CastNamespace.multizone, to: "*") }
        tell(#"{"type":"DEVICE_UPDATED","device":{"deviceId":"HALL","volume":{"level":0.4}}}"#)
        #expect(await eventually { await session.current.groupVolumes.trims["hall"] == 0.5 })
        tell(#"{"type":"DEVICE_ADDED","device":{"deviceId":"porch","name":"Porch","volume":{"level":0.8}}}"#)
        tell(#"{"type":"DEVICE_REMOVED","deviceId":"kitchen"}"#)
        tell(#"{"type":"PLAYBACK_SESSION_UPDATED","playbackSession":{"streamTransferSupported":true}}"#)
        #expect(await eventually { await session.current.group?.playbackSession?.streamTransferSupported == true })
        let state = await session.current
        #expect(state.group?.members.map(\.deviceID) == ["hall", "porch"])
        #expect(state.groupVolumes.deviceIDs == ["hall", "porch"])
        await session.end(stopApp: false)
        await device.stop()
    }

    @Test("C17 members are shown as playing while the group plays") func membersPlay() async throws {
        let (device, _) = try await group()
        let session = try await CastSession.connect(device)
        _ = await session.followGroup()
        #expect(await session.current.memberPlayback.map(\.plays) == [false, false])
        _ = try await session.launchOrJoin(appID: "CC1AD845")
        #expect(await eventually { await session.current.memberPlayback.map(\.plays) == [true, true] })
        #expect(await session.current.memberPlayback.first?.app?.displayName == "App")
        await session.end(stopApp: false)
        await device.stop()
    }

    @Test("C17 a device that is no group has its own volume, and one that never answers times out") func noGroup()
        async throws
    {
        let (device, _) = try await group(answering: false)
        let clock = ManualClock()
        let session = try await CastSession.connect(device, clock: clock)
        _ = await session.receiverStatus()
        _ = await session.setGroupVolume(0.3)
        #expect(device.count("SET_VOLUME>receiver-0") == 1)
        _ = await session.followGroup()
        let setting = Task { await session.setGroupVolume(0.4) }
        #expect(await eventually { await session.requestsInFlight == 2 })
        for _ in 0..<9 {
            clock.advance(seconds: 1)
            #expect(await eventually { clock.sleepers == 1 })
        }
        #expect(await setting.value == .failed(.timedOut))
        await session.end(stopApp: false)
        await device.stop()
    }

    @Test("C2 which apps a device can run: what it says, and nothing where it says nothing") func availability()
        async throws
    {
        let device = try await ScriptedCastDevice { _, json, device in
            guard json["type"] == "GET_APP_AVAILABILITY", let id = json["requestId"].int else { return false }
            if json["appId"].elements.isEmpty { return true }
            device.say(
                #"{"responseType":"GET_APP_AVAILABILITY","requestId":\#(id),"availability":{"A":"APP_AVAILABLE","B":"APP_UNAVAILABLE","C":"WHAT"}}"#,
                in: CastNamespace.receiver)
            return true
        }
        let clock = ManualClock()
        let session = try await CastSession.connect(device, clock: clock)
        _ = await session.receiverStatus()
        #expect(await session.availability(of: ["A", "B", "C", "D"]) == ["A": true, "B": false])
        let silence = Task { await session.availability(of: []) }
        #expect(await eventually { await session.requestsInFlight == 1 })
        for _ in 0..<9 {
            clock.advance(seconds: 1)
            #expect(await eventually { clock.sleepers == 1 })
        }
        #expect(await silence.value == nil)
        await session.end(stopApp: false)
        await device.stop()
    }

    @Test("C2 GET_DEVICE_INFO and eureka_info, asked and answered, and refused") func information() async throws {
        let device = try await ScriptedCastDevice { message, json, device in
            switch json["type"].string {
            case "GET_DEVICE_INFO":
                let id = json["requestId"].int ?? 0
                device.say(
                    #"{"type":"GET_DEVICE_INFO","requestId":\#(id),"friendlyName":"K"}"#, in: message.namespace)
            case "eureka_info":
                let id = json["request_id"].int ?? 0
                device.say(
                    #"{"type":"eureka_info","request_id":\#(id),"response_code":403,"response_string":"No"}"#,
                    in: message.namespace)
            default: return false
            }
            return true
        }
        let session = try await CastSession.connect(device)
        guard case .completed(.deviceInformation(let information)) = await session.request(.deviceInformation).result()
        else {
            Issue.record("no answer")
            return
        }
        #expect(information.friendlyName == "K")
        #expect(
            await session.request(.eurekaInformation).result() == .failed(.invalidRequest(reason: "No")))
        await session.end(stopApp: false)
        await device.stop()
    }
}
