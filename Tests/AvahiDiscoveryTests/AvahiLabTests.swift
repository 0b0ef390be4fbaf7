import Foundation
import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import AvahiDiscovery

/// Against a real Avahi daemon. Serialised: there is one daemon, and some of these stop it.
@Suite("Discovery by the Avahi daemon", .serialized, .enabled(if: Lab.isHere, Comment(rawValue: Lab.elsewhere)))
struct AvahiLabTests {
    let raop = "_raop._tcp"
    let airplay = "_airplay._tcp"
    let cast = "_googlecast._tcp"

    func service(_ type: String, _ name: String, port: Int = 5000, txt: [String: String] = [:], at address: String?)
        -> PublishedService
    {
        PublishedService(type: type, name: name, port: port, txt: txt, address: address)
    }

    @Test("C1 A7 A service is found with host, address, port and text, its change is seen, and its goodbye")
    func foundChangedRemoved() async throws {
        let publisher = AvahiPublisher()
        defer { publisher.close() }
        try await browsing([raop]) { watcher in
            let name = "0011AABBCCDD@Küche"
            let publication = try await publisher.publication(
                of: service(raop, name, txt: ["ET": "0,1", "cn": "0"], at: "10.77.0.3"))
            #expect(publication.name == name)
            #expect(await eventually { await watcher.record(raop, name) != nil })
            let record = await watcher.record(raop, name)
            #expect(record?.hostName == "lab-10-77-0-3.local")
            #expect(record?.addresses == ["10.77.0.3"])
            #expect(record?.port == 5000)
            #expect(record?.txt == ["et": "0,1", "cn": "0"])
            #expect(record?.interface == "lo")

            try publication.update(txt: ["et": "0,1", "pw": "true"])
            #expect(await eventually { await watcher.record(raop, name)?.txt == ["et": "0,1", "pw": "true"] })

            await publication.withdraw()
            #expect(await eventually { await watcher.record(raop, name) == nil })
            #expect(await watcher.removals == [ServiceRecord.Key(type: raop, name: name)])
        }
    }

    @Test("C1 States: starting, scanning, then complete when all that is known was resolved")
    func complete() async throws {
        let publisher = AvahiPublisher()
        defer { publisher.close() }
        _ = try await publisher.publish(service(cast, "tv", port: 8009, at: "10.77.0.4"))
        try await browsing([raop, airplay, cast]) { watcher in
            #expect(await eventually { await watcher.count(.complete) == 1 })
            #expect(await watcher.states.map(\.status) == [.starting, .scanning, .complete])
            #expect(await watcher.record(cast, "tv") != nil, "complete means that what was found is resolved")
        }
    }

    @Test("C1 The two AirPlay records and the Cast record of one device come with one host and address")
    func threeRecordsOfOneDevice() async throws {
        let publisher = AvahiPublisher()
        defer { publisher.close() }
        try await browsing([raop, airplay, cast]) { watcher in
            let address = "10.77.0.5"
            _ = try await publisher.publish(service(raop, "0011AABBCCEE@Both", at: address))
            _ = try await publisher.publish(
                service(airplay, "Both", port: 7000, txt: ["deviceid": "00:11:AA:BB:CC:EE"], at: address))
            let third = try await publisher.publish(service(cast, "Both", port: 8009, txt: ["fn": "Both"], at: address))
            #expect(await eventually { await watcher.records.count == 3 })
            let records = await watcher.records.values
            #expect(Set(records.map(\.hostName)) == ["lab-10-77-0-5.local"])
            #expect(Set(records.map(\.addresses)) == [[address]])
            #expect(Set(records.map(\.port)) == [5000, 7000, 8009])
            // The host record is shared: it outlives one of its services.
            await third.withdraw()
            #expect(await eventually { await watcher.records.count == 2 })
            let fourth = try await publisher.publish(service(cast, "Again", port: 8009, at: address))
            #expect(await eventually { await watcher.record(cast, "Again")?.addresses == [address] })
            await fourth.withdraw()
        }
    }

    @Test("C1 A name that is taken is changed, and both are found")
    func collision() async throws {
        let publisher = AvahiPublisher()
        let other = AvahiPublisher()
        defer {
            publisher.close()
            other.close()
        }
        try await browsing([cast]) { watcher in
            let first = try await publisher.publication(of: service(cast, "Twin", port: 8009, at: "10.77.0.6"))
            let second = try await other.publication(of: service(cast, "Twin", port: 8010, at: "10.77.0.7"))
            #expect(first.name == "Twin")
            #expect(second.name == "Twin #2")
            #expect(await eventually { await watcher.records.count == 2 })
            #expect(await watcher.record(cast, "Twin")?.addresses == ["10.77.0.6"])
            #expect(await watcher.record(cast, "Twin #2")?.addresses == ["10.77.0.7"])
        }
    }

    @Test("C1 What can't be announced is refused with a reason")
    func refused() async throws {
        let publisher = AvahiPublisher()
        defer { publisher.close() }
        let bad = [
            service(cast, String(repeating: "x", count: 64), at: nil), service(cast, "", at: nil),
            service(cast, "port", port: 0, at: nil), service("no type", "type", at: nil),
            service(cast, "address", at: "10.77.0"),
        ]
        for service in bad {
            let error = await #expect(throws: RouterError.self) { try await publisher.publish(service) }
            #expect(error?.code == .configuration)
        }
        // And after all that it still works.
        _ = try await publisher.publish(service(cast, "good", at: nil))
    }

    @Test("A7 A device that was killed without goodbye is removed when its host record has run out, and can return")
    func killedWithoutGoodbye() async throws {
        let device = VanishingDevice(hostLife: 3)
        try await browsing([raop]) { watcher in
            try device.announce()
            #expect(await eventually { await watcher.record(device.type, device.name) != nil })
            #expect(await watcher.record(device.type, device.name)?.addresses == [device.address])
            #expect(await eventually(within: .seconds(30)) { await watcher.record(device.type, device.name) == nil })
            try device.announce()
            #expect(await eventually { await watcher.record(device.type, device.name) != nil })
        }
    }

    @Test(
        "A7 With the lifetimes of real devices that takes some two minutes, not the 75 of its name",
        .enabled(if: Lab.isLong, "two minutes long: set ROUTER_LONG=1"), .timeLimit(.minutes(4)))
    func killedWithoutGoodbyeForReal() async throws {
        let device = VanishingDevice(name: "AABBCCDDEEFE@Really gone", hostLife: 120)
        try await browsing([raop]) { watcher in
            try device.announce()
            #expect(await eventually { await watcher.record(device.type, device.name) != nil })
            #expect(await eventually(within: .seconds(180)) { await watcher.record(device.type, device.name) == nil })
        }
    }

    @Test("C1 No daemon at the start is said with a hint; it is found when it starts")
    func absentAtStart() async throws {
        try Lab.avahi("stop")
        let publisher = AvahiPublisher()
        defer { publisher.close() }
        try await browsing([cast]) { watcher in
            #expect(await eventually { await watcher.count(.unavailable) == 1 })
            let state = await watcher.states.last
            #expect(state?.message?.contains("Avahi daemon") == true)
            #expect(state?.hint?.contains("avahi-daemon") == true)
            let error = await #expect(throws: RouterError.self) {
                try await publisher.publish(service(cast, "tv", at: "10.77.0.4"))
            }
            #expect(error?.code == .dependencyMissing)

            try Lab.avahi("start")
            #expect(await eventually { await watcher.count(.complete) == 1 })
            _ = try await publisher.publish(service(cast, "tv", port: 8009, at: "10.77.0.4"))
            #expect(await eventually { await watcher.record(cast, "tv") != nil })
        }
    }

    @Test("C1 No message bus is said too")
    func noBus() async throws {
        // Its socket is put aside, which those who are connected don't notice.
        let files = FileManager.default
        try files.moveItem(atPath: "/run/lab/bus.sock", toPath: "/run/lab/aside.sock")
        try await browsing([cast]) { watcher in
            #expect(await eventually { await watcher.count(.unavailable) == 1 })
            #expect(await watcher.states.last?.message?.contains("D-Bus") == true)
            try files.moveItem(atPath: "/run/lab/aside.sock", toPath: "/run/lab/bus.sock")
            #expect(await eventually { await watcher.count(.complete) == 1 })
        }
    }

    @Test("C1 A daemon that is stopped and started again is survived", arguments: ["stop", "kill"])
    func restarted(verb: String) async throws {
        let publisher = AvahiPublisher()
        defer { publisher.close() }
        let doomed = VanishingDevice(type: cast, name: "doomed", hostLife: 120)
        try await browsing([cast], AvahiBrowser(returnGrace: .seconds(5))) { watcher in
            _ = try await publisher.publish(service(cast, "tv", port: 8009, at: "10.77.0.4"))
            try doomed.announce()
            #expect(await eventually { await watcher.records.count == 2 })
            #expect(await eventually { await watcher.count(.complete) == 1 })

            try Lab.avahi(verb)
            #expect(await eventually { await watcher.count(.unavailable) == 1 })
            // A daemon that is stopped says goodbye for its own services, but knows no more of others'.
            #expect(await watcher.record(cast, "doomed") != nil)

            try Lab.avahi("start")
            #expect(await eventually { await watcher.count(.scanning) == 2 })
            #expect(await eventually { await watcher.count(.complete) == 2 })
            #expect(await eventually { await watcher.record(cast, "doomed") == nil }, "it did not return")
            #expect(await eventually { await watcher.record(cast, "tv") != nil }, "it was announced again")
        }
    }

    @Test("C1 Many streams are begun and dropped at any moment without harm")
    func manyStreams() async throws {
        let publisher = AvahiPublisher()
        defer { publisher.close() }
        _ = try await publisher.publish(service(cast, "tv", port: 8009, at: "10.77.0.4"))
        // Each connection to the daemon is a socket and a thread with its pipe.
        let openFiles = { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
        let before = try openFiles()
        for round in 0..<30 {
            let watcher = Watcher()
            let events = AvahiBrowser().browse([cast, raop])
            let reading = Task { await watcher.watch(events) }
            let seen = round % 4
            _ = await eventually { await watcher.states.count >= seen }
            reading.cancel()
            await reading.value
        }
        #expect(try await eventually { try openFiles() <= before })
    }
}
