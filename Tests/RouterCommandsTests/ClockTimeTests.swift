import RouteModel
import Testing

@testable import RouterCommands

@Suite("Times as people type them")
struct ClockTimeTests {
    @Test(
        "what is understood",
        arguments: [
            ("0", 0.0), ("83", 83), ("83.5", 83.5), ("1:23", 83), ("01:23", 83), ("1:02:03", 3723),
            ("0:00:07.25", 7.25),
            ("100:00", 6000), ("9999999", 9_999_999),
        ])
    func understood(_ text: String, _ seconds: Double) {
        #expect(ClockTime.parse(text)?.seconds == seconds)
    }

    @Test(
        "what is not",
        arguments: [
            "", ":", "1:", ":30", "1:60", "1:2:60", "1:60:00", "1:2:3:4", "-5", "+5", "1e3", "0x10", "nan", "inf", " 5",
            "5s", "1.5:00", "1..5", ".", "10000000", "１:２３", "٣", "99999999999999999999",
        ])
    func refused(_ text: String) {
        #expect(ClockTime.parse(text) == nil)
    }

    @Test(
        "how it is shown",
        arguments: [
            (0.0, "0:00"), (0.999, "0:00"), (9, "0:09"), (83, "1:23"), (3599.9, "59:59"), (3600, "1:00:00"),
            (36_610, "10:10:10"), (-5, "0:00"),
        ])
    func shown(_ seconds: Double, _ text: String) {
        #expect(ClockTime.format(MediaTime(seconds: seconds)) == text)
    }

    @Test("what is shown can be typed")
    func roundTrip() {
        for seconds in [0.0, 1, 59, 60, 61, 3599, 3600, 3661, 86_399, 360_000] {
            #expect(ClockTime.parse(ClockTime.format(MediaTime(seconds: seconds)))?.seconds == seconds)
        }
    }
}
