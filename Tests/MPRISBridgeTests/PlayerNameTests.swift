import RouteModel
import Testing

@testable import MPRISBridge

struct PlayerNameTests {
    @Test("C17 a session's bus name holds what the bus allows, whatever the id is")
    func busNames() {
        #expect(MPRISName.bus(SessionID(rawValue: "se-0a1b")) == "org.mpris.MediaPlayer2.router.se-0a1b")
        #expect(MPRISName.bus(SessionID(rawValue: "7.x/é")) == "org.mpris.MediaPlayer2.router.s7_2ex_2f_c3_a9")
        #expect(MPRISName.bus(SessionID(rawValue: "")) == "org.mpris.MediaPlayer2.router.s")
        let long = MPRISName.bus(SessionID(rawValue: String(repeating: "x.", count: 500)))
        #expect(long.utf8.count <= 255)
        #expect(long.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) })
    }

    @Test(
        "C17 an item's path leads back to the item, and no path of others does",
        arguments: ["01J9ZK3V7Q", "a_b", "ü/..", "", "x y"])
    func tracks(_ id: String) {
        let path = MPRISName.track(ItemID(rawValue: id))
        #expect(path.hasPrefix("/org/router/track/"))
        #expect(
            path.dropFirst("/org/router/track/".count).allSatisfy {
                $0.isASCII && $0.isLetter || $0.isNumber || $0 == "_"
            })
        #expect(MPRISName.item(path) == ItemID(rawValue: id))
    }

    @Test(
        "C17 a path that is none of ours is of no item",
        arguments: [
            MPRISName.noTrack, "/", "/org/router", "/org/router/track/_", "/org/router/track/_zz",
            "/org/router/track/_ff", "/org/router/track/a_4",
        ])
    func foreignTracks(_ path: String) {
        #expect(MPRISName.item(path) == nil)
    }
}
