import Foundation
import SimulatedReceivers

/// The rooms of the demo.
enum DemoHouse {
    static let rooms = ["Kitchen", "Study", "Living Room", "Bedroom"]
    /// The device that speaks both AirPlay and Cast.
    static let both = "Bedroom"

    /// - Parameter eachAtItsAddress: at 10.77.0.1 and on, as `Tests/lab.sh` makes them and as devices of a house are; else
    ///   all at 127.0.0.1.
    static func plan(recordingTo folder: URL, eachAtItsAddress: Bool) throws -> SimulatedHouse.Plan {
        func spec(_ name: String) -> SimulatedReceiverSpec {
            let number = (rooms.firstIndex(of: name) ?? 0) + 1
            return SimulatedReceiverSpec(name: name, host: eachAtItsAddress ? "10.77.0.\(number)" : "127.0.0.1")
        }
        var study = SimulatedAirPlay2Spec(name: "Study")
        study.receiver = spec("Study")
        // The ports of PTP belong to root, and on an address that all share to whoever comes first.
        study.timing = eachAtItsAddress ? .ptp : .ntp
        var plan = try SimulatePlanner(
            cast: [spec("Living Room"), spec(both)], raop: [spec("Kitchen"), spec(both)], airPlay2: [study],
            firstPort: 0, recordingFolder: folder
        ).plan()
        // Nobody asks for eureka_info here, and its standard port may be in use.
        for index in plan.cast.indices { plan.cast[index].httpPort = nil }
        return plan
    }
}
