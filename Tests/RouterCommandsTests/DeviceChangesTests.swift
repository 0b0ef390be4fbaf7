import RouteModel
import Testing

@testable import RouterCommands

@Suite("C1 C2 what devices --watch prints")
struct DeviceChangesTests {
    private func route(_ id: String, _ name: String, busy: String? = nil) -> Route {
        Route(id: RouteID(rawValue: id), name: name, endpoints: [], busyWith: busy)
    }

    @Test("the whole list first, then each change with its number, and nothing for nothing") func changes() throws {
        var changes = DeviceChanges()
        let kitchen = route("rt-1", "Kitchen")
        let first = changes.lines(for: [kitchen])
        #expect(first.map(\.event) == [.snapshot])
        #expect(first[0].routes == [kitchen])
        #expect(changes.lines(for: [kitchen]).isEmpty)
        let study = route("rt-2", "Study")
        let second = changes.lines(for: [route("rt-1", "Kitchen", busy: "YouTube"), study])
        #expect(second.map(\.event) == [.changed, .found])
        #expect(second.map(\.sequence) == [2, 3])
        #expect(second[0].route?.busyWith == "YouTube")
        let third = changes.lines(for: [study])
        #expect(third.map(\.event) == [.gone])
        #expect(third[0].route?.name == "Kitchen")
        let line = try Renderer.jsonLine(third[0])
        #expect(line.contains(#""event":"gone""#) && line.contains(#""sequence":4"#) && !line.contains("\n"))
    }

    @Test("an empty list is a list") func empty() {
        var changes = DeviceChanges()
        #expect(changes.lines(for: []).map(\.event) == [.snapshot])
    }
}
