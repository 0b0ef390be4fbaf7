import RouteModel
import Testing

@Suite("C17 Volume")
struct VolumeTests {
    @Test("positions are clamped, and no number is silence, not full")
    func clamped() {
        #expect(VolumePosition(2).value == 1)
        #expect(VolumePosition(-1).value == 0)
        #expect(VolumePosition(.nan).value == 0)
        #expect(VolumePosition(percent: 45).value == 0.45)
        #expect((0...100).allSatisfy { VolumePosition(percent: Double($0)).percent == $0 })
        #expect(VolumePosition(0.2) < VolumePosition(0.3))
    }

    @Test("the AirPlay number is −30 to 0, −144 is mute")
    func airplay() {
        let curve = VolumeCurve.airplay
        #expect(curve.deviceValue(VolumePosition(1)) == 0)
        #expect(curve.deviceValue(VolumePosition(0.5)) == -15)
        #expect(curve.deviceValue(VolumePosition(0)) == -144)
        #expect(curve.deviceValue(VolumePosition(0.7), muted: true) == -144)
        #expect(curve.position(deviceValue: -144).muted)
        #expect(curve.position(deviceValue: -144).position == VolumePosition(0))
        #expect(curve.position(deviceValue: -30).position == VolumePosition(0))
        #expect(!curve.position(deviceValue: -30).muted)
        // Beyond the range a device may say anything: it is clamped.
        #expect(curve.position(deviceValue: -100).position == VolumePosition(0))
        #expect(curve.position(deviceValue: 3).position == VolumePosition(1))
    }

    @Test("a muted linear device is at zero")
    func linear() {
        #expect(VolumeCurve.linear.deviceValue(VolumePosition(0.4)) == 0.4)
        #expect(VolumeCurve.linear.deviceValue(VolumePosition(0.4), muted: true) == 0)
    }
}
