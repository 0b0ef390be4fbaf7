import Foundation
import RouteModel
import Testing

@Suite("R5 how loud a room begins, as people write it")
struct StartVolumeTests {
    @Test(
        "forms that are read, and come back in one form",
        arguments: [
            ("preserve", StartVolume.preserve, "preserve"), ("last", .last, "last"),
            ("40 %", .set(VolumePosition(0.4)), "40 %"), ("40%", .set(VolumePosition(0.4)), "40 %"),
            ("40", .set(VolumePosition(0.4)), "40 %"), ("0 %", .set(VolumePosition(0)), "0 %"),
            ("at most 40 %", .cap(VolumePosition(0.4)), "at most 40 %"),
            ("at most 100", .cap(VolumePosition(1)), "at most 100 %"),
        ])
    func reads(_ text: String, _ wanted: StartVolume, _ form: String) throws {
        let start = try StartVolume(text)
        #expect(start == wanted && start.description == form)
        #expect(try StartVolume(form) == wanted)
        #expect(try JSONDecoder().decode(StartVolume.self, from: JSONEncoder().encode(wanted)) == wanted)
    }

    @Test(
        "anything else is told with the form to use",
        arguments: [
            "", " ", "Last", "lst", "preserved", "~", "yes", "off", "at most", "at most %", "at  most last",
            "atmost 40",
            "101", "-5", "0.4", "4e1", "0x28", "40 percent", "40 % x", "%", "%40", "٤٠ %", "at most 40 % x",
            "99999999999999999999", "40 %%",
        ])
    func refuses(_ text: String) {
        let error = #expect(throws: RouterError.self) { try StartVolume(text) }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("start volume") == true && error?.hint?.contains("40 %") == true)
    }

    @Test("a slip of the hand is told what was meant")
    func near() {
        let error = #expect(throws: RouterError.self) { try StartVolume("presreve") }
        #expect(error?.hint?.hasPrefix("Did you mean “preserve”?") == true)
    }

    @Test("in JSON it says its kind, and a kind that is not known is refused")
    func json() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = String(decoding: try encoder.encode(StartVolume.cap(VolumePosition(0.5))), as: UTF8.self)
        #expect(text == #"{"level":0.5,"type":"cap"}"#)
        for wrong in [#"{"type":"loud"}"#, #"{"type":"set"}"#, #"{"level":0.5}"#, "40"] {
            #expect(throws: (any Error).self) { try JSONDecoder().decode(StartVolume.self, from: Data(wrong.utf8)) }
        }
    }
}
