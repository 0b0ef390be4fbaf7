import RouteModel
import Testing

@Suite("R2 quiet hours as people write them")
struct QuietHoursTests {
    @Test(
        "forms that are read, and come back in one form",
        arguments: [
            ("22:00-07:00 at 30 %", 1320, 420, 30), ("00:00-23:59 at 0%", 0, 1439, 0),
            ("13:00-14:30 at 100 %", 780, 870, 100),
        ])
    func reads(_ text: String, _ from: Int, _ to: Int, _ percent: Int) throws {
        let hours = try QuietHours(text)
        #expect(hours == QuietHours(from: from, to: to, limit: VolumePosition(percent: Double(percent))))
        #expect(try QuietHours(hours.description) == hours)
    }

    @Test(
        "anything else is told with the form to use",
        arguments: [
            "", "22-7", "22:00-07:00", "22:00-07:00 at", "22:00-07:00 at 30", "22:00-07:00 at %",
            "22:00-07:00 at 101 %",
            "22:00-07:00 at -1 %", "22:00-07:00 at 3.5 %", "24:00-07:00 at 30 %", "22:60-07:00 at 30 %",
            "22:00-22:00 at 30 %", "2:00-07:00 at 30 %", "22:00–07:00 at 30 %", "+2:00-07:00 at 30 %",
            "22:00-07:00-08:00 at 30 %", "22:00-07:00 to 30 %", "22:00 - 07:00 at 30 %", "22:00-07:00 at 30 % x",
            "22:00-07:00 at ٣٠ %",
        ])
    func refuses(_ text: String) {
        let error = #expect(throws: RouterError.self) { try QuietHours(text) }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("quiet hours") == true)
        #expect(error?.hint != nil)
    }

    @Test("they last over midnight, from their first minute up to the one they end with")
    func lasting() throws {
        let night = try QuietHours("22:00-07:00 at 30 %")
        #expect([1320, 1439, 0, 419].allSatisfy { night.contains(minute: $0) })
        #expect(![420, 720, 1319].contains { night.contains(minute: $0) })
        let noon = try QuietHours("13:00-14:00 at 30 %")
        #expect(noon.contains(minute: 780) && noon.contains(minute: 839))
        #expect(!noon.contains(minute: 779) && !noon.contains(minute: 840))
    }
}
