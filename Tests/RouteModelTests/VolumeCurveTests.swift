import Foundation
import RouteModel
import Testing

@Suite("C17 volume curves")
struct VolumeCurveTests {
    static let curves: [VolumeCurve] =
        [.linear, .airplay, .table([0, 1]), .table([0, 0.05, 0.2, 0.5, 1]), .table([0, 0.001, 0.6])]
        + [10.0, 37, 60, 100].flatMap { range in
            [0.5, 1, 1.7, 3].map { VolumeCurve.decibel(range: range, taper: $0) }
        }

    @Test("every curve has an inverse over its whole range", arguments: curves)
    func inverse(curve: VolumeCurve) {
        #expect(curve.isSound)
        for step in 0...1000 {
            let position = VolumePosition(Double(step) / 1000)
            let back = curve.position(deviceValue: curve.deviceValue(position))
            #expect(abs(back.position.value - position.value) < 1e-6)
            #expect(back.muted == (curve == .airplay && step == 0))
        }
    }

    @Test("louder on the slider is louder on the device, and the other way round", arguments: curves)
    func monotone(curve: VolumeCurve) {
        let values = (0...1000).map { curve.deviceValue(VolumePosition(Double($0) / 1000)) }
        #expect(zip(values, values.dropFirst()).allSatisfy { $0 < $1 })
        guard curve != .airplay else { return }
        #expect(values[0] == 0 && values[1000] <= 1)
        let positions = (0...1000).map { curve.position(deviceValue: Double($0) / 1000).position.value }
        #expect(zip(positions, positions.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(positions[0] == 0 && positions[1000] == 1)
        // What is muted is silent, and what no device says breaks nothing.
        #expect(curve.deviceValue(VolumePosition(0.7), muted: true) == 0)
        for odd in [-1, 2, .infinity, -.infinity, .nan] as [Double] {
            #expect((0...1).contains(curve.position(deviceValue: odd).position.value))
        }
    }

    @Test("decibels of an even taper: half of the slider is half of the decibels")
    func decibels() {
        let curve = VolumeCurve.decibel(range: 40, taper: 1)
        #expect(abs(curve.deviceValue(VolumePosition(0.5)) - 0.1) < 1e-12)
        #expect(curve.deviceValue(VolumePosition(1)) == 1)
        // A higher taper gives more of the slider to what is loud.
        #expect(VolumeCurve.decibel(range: 40, taper: 2).deviceValue(VolumePosition(0.5)) > 0.3)
    }

    @Test("a table is straight between its levels")
    func table() {
        let curve = VolumeCurve.table([0, 0.05, 0.2, 0.5, 1])
        #expect(curve.deviceValue(VolumePosition(0.25)) == 0.05)
        #expect(abs(curve.deviceValue(VolumePosition(0.375)) - 0.125) < 1e-12)
        #expect(curve.deviceValue(VolumePosition(1)) == 1)
        #expect(VolumeCurve.table([0, 0.6]).position(deviceValue: 0.9).position.value == 1)
    }

    @Test(
        "what has no inverse, or no end, is not sound, and breaks nothing",
        arguments: [
            .table([]), .table([0]), .table([0.1, 1]), .table([0, 0.5, 0.5, 1]), .table([0, 1, 0.5]), .table([0, 1.1]),
            .table([0, .nan, 1]), .table((0...32).map { Double($0) / 32 }), .decibel(range: 9, taper: 1),
            .decibel(range: .nan, taper: 1), .decibel(range: 50, taper: 0.4), .decibel(range: 50, taper: .infinity),
        ] as [VolumeCurve])
    func unsound(curve: VolumeCurve) {
        #expect(!curve.isSound)
        for value in [0, 0.3, 1] {
            _ = curve.deviceValue(VolumePosition(value))
            #expect((0...1).contains(curve.position(deviceValue: value).position.value))
        }
    }

    @Test(
        "forms that are read, and come back in one form",
        arguments: [
            ("linear", VolumeCurve.linear, "linear"), ("decibel 50", .decibel(range: 50, taper: 1), "decibel 50"),
            ("decibel 50 taper 1", .decibel(range: 50, taper: 1), "decibel 50"),
            ("decibel  62.5 taper 1.5", .decibel(range: 62.5, taper: 1.5), "decibel 62.5 taper 1.5"),
            ("table 0 5 20 50 100", .table([0, 0.05, 0.2, 0.5, 1]), "table 0 5 20 50 100"),
            ("table 0 0.5 60", .table([0, 0.005, 0.6]), "table 0 0.5 60"),
        ])
    func reads(_ text: String, _ wanted: VolumeCurve, _ form: String) throws {
        let curve = try VolumeCurve(text)
        #expect(curve == wanted && curve.description == form)
        #expect(try VolumeCurve(form) == wanted)
        #expect(try JSONDecoder().decode(VolumeCurve.self, from: JSONEncoder().encode(wanted)) == wanted)
    }

    @Test(
        "anything else is told with the form to use",
        arguments: [
            "", "airplay", "Linear", "linear 2", "decibel", "decibel fifty", "decibel 50 dB", "decibel 50 taper",
            "decibel 50 curve 2", "decibel -50", "decibel 1e2", "decibel 5", "decibel 101", "decibel 50 taper 4",
            "decibel nan", "decibel 5٠", "table", "table 0", "table 5 100", "table 0 50 50 100", "table 0 100 50",
            "table 0 101", "table 0, 50, 100", "table 0 1.2.3", "table 0 0x10", "0 50 100",
            "table 0 " + (1...40).map(String.init).joined(separator: " "), "table 0 123456789",
        ])
    func refuses(_ text: String) {
        let error = #expect(throws: RouterError.self) { try VolumeCurve(text) }
        #expect(error?.code == .configuration && error?.message.contains("volume curve") == true)
        #expect(error?.hint?.isEmpty == false)
    }

    @Test("a slip of the hand is told what was meant")
    func near() {
        let error = #expect(throws: RouterError.self) { try VolumeCurve("decible 50") }
        #expect(error?.hint?.hasPrefix("Did you mean “decibel”?") == true)
    }
}
