import CastBackend
import Foundation
import RouteBackend
import RouteModel
import RouterTestKit
import SimulatedReceivers
import Testing

@Suite struct CastAvailabilityTests {
    /// What devices say, and how often they were asked.
    actor House {
        var apps: [String: Set<String>] = [:]
        var asked = 0
        func set(_ host: String, _ known: Set<String>?) { apps[host] = known }
        func ask(_ endpoint: Endpoint, _ ids: [String]) -> [String: Bool]? {
            asked += 1
            return apps[endpoint.host].map { known in
                Dictionary(uniqueKeysWithValues: ids.map { ($0, known.contains($0)) })
            }
        }
    }

    private func device(_ host: String, facts: [String: String] = [:], port: Int = 8009) -> Endpoint {
        Endpoint(
            id: EndpointID(rawValue: "cast:\(host)"), protocol: .cast, name: host, host: host, port: port,
            strongKeys: [StrongKey(.castID, host)], facts: facts, origin: .discovered)
    }

    @Test("C1 C23 an answer is remembered for a device and an app, until it is old or the device another")
    func remembered() async {
        let clock = ManualClock()
        let house = House()
        await house.set("tv", ["CC1AD845"])
        let availability = CastAvailability(clock: clock) { await house.ask($0, $1) }
        let tv = device("tv")
        #expect(await availability.answer("CC1AD845", on: tv) == .available)
        #expect(await availability.answer("cc1ad845", on: tv) == .available)
        #expect(await availability.answer("233637DE", on: tv) == .unavailable)
        #expect(await house.asked == 2)
        // What it plays says nothing about what it can run.
        #expect(
            await availability.answer("CC1AD845", on: device("tv", facts: ["rs": "YouTube", "st": "1"])) == .available)
        #expect(await house.asked == 2)
        #expect(await availability.answer("CC1AD845", on: device("tv", facts: ["ca": "5"])) == .available)
        #expect(await house.asked == 3)
        #expect(await availability.answer("CC1AD845", on: device("tv", facts: ["ca": "5"], port: 32_000)) == .available)
        #expect(await house.asked == 4)
        await house.set("tv", [])
        clock.advance(nanoseconds: CastAvailability.lifetime - 1)
        #expect(await availability.answer("CC1AD845", on: device("tv", facts: ["ca": "5"], port: 32_000)) == .available)
        clock.advance(nanoseconds: 1)
        #expect(
            await availability.answer("CC1AD845", on: device("tv", facts: ["ca": "5"], port: 32_000)) == .unavailable)
    }

    @Test("C1 a device that does not answer is not known of, and is asked again soon") func unknown() async {
        let clock = ManualClock()
        let house = House()
        let availability = CastAvailability(clock: clock) { await house.ask($0, $1) }
        #expect(await availability.answer("CC1AD845", on: device("tv")) == .unknown)
        await house.set("tv", ["CC1AD845"])
        #expect(await availability.answer("CC1AD845", on: device("tv")) == .unknown)
        clock.advance(nanoseconds: CastAvailability.silence)
        #expect(await availability.answer("CC1AD845", on: device("tv")) == .available)
        #expect(await house.asked == 2)
    }

    @Test("C1 many devices are asked side by side, each once") func many() async {
        let house = House()
        let devices = (0..<40).map { device("d\($0)") }
        for (index, device) in devices.enumerated() where index % 2 == 0 { await house.set(device.host, ["CC1AD845"]) }
        let availability = CastAvailability(clock: ManualClock()) { await house.ask($0, $1) }
        let answers = await availability.answers("CC1AD845", on: devices)
        #expect(answers.count == 40)
        #expect(answers.values.count { $0 == .available } == 20)
        #expect(answers.values.count { $0 == .unknown } == 20)
        #expect(await house.asked == 40)
    }

    @Test(
        "C1 C23 the simulated device is asked on the wire, by IPv6 too, and nothing is launched",
        arguments: ["127.0.0.1", "::1"])
    func wire(host: String) async throws {
        var configuration = SimulatedCastConfiguration(name: "TV", port: 0, httpPort: nil)
        configuration.host = host
        let device = try SimulatedCastReceiver(configuration)
        let port = try await device.start().port
        let uri = host.contains(":") ? "cast://[\(host)]:\(port)" : "cast://\(host):\(port)"
        let endpoint = try CastProvider().endpoint(from: DeviceURI(uri))
        let availability = CastAvailability()
        #expect(await availability.answer("CC1AD845", on: endpoint) == .available)
        #expect(await availability.answer("00000000", on: endpoint) == .unavailable)
        #expect(await !device.record().words.contains("launch"))
        await device.stop()
        #expect(await CastAvailability().answer("CC1AD845", on: endpoint) == .unknown)
    }
}
