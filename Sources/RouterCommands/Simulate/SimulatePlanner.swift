import ArgumentParser
import Foundation
import SimulatedReceivers

/// Turns what the command line asks for into receivers: gives out ports, names of recordings and faults.
struct SimulatePlanner {
    static let castPort = 8009
    static let raopPort = 5000
    static let airPlay2Port = 7000
    static let eurekaPort = 8008
    /// Of the first group; devices take any.
    static let groupPort = 32_187

    var cast: [SimulatedReceiverSpec] = []
    var raop: [SimulatedReceiverSpec] = []
    var airPlay2: [SimulatedAirPlay2Spec] = []
    var groups: [SimulatedGroupSpec] = []
    /// The first receiver's port, where it names none itself; the next ones follow, Cast receivers first. 0: free ones.
    var firstPort: Int?
    var faults: [SimulatedFault] = []
    var recordingFolder: URL?
    /// Of the AirPlay receivers.
    var password: String?

    private struct Place: Hashable {
        var host: String
        var port: Int
    }

    /// Throws `ValidationError`.
    func plan() throws -> SimulatedHouse.Plan {
        try checkNames()
        let ports = try ports()
        var plan = SimulatedHouse.Plan()
        for (spec, port) in zip(cast, ports) {
            var configuration = SimulatedCastConfiguration(
                name: spec.name, host: spec.host, port: port, httpPort: Self.eurekaPort)
            configuration.recordingFolder = recordingFolder
            configuration.recordingName = recordingName(spec.name, kind: "cast")
            plan.cast.append(configuration)
        }
        for (spec, port) in zip(raop, ports.dropFirst(cast.count)) {
            var configuration = SimulatedRAOPConfiguration(
                name: spec.name, host: spec.host, port: port, password: password, recordingFolder: recordingFolder)
            configuration.recordingName = recordingName(spec.name, kind: "raop")
            plan.raop.append(configuration)
        }
        for (spec, port) in zip(airPlay2, ports.dropFirst(cast.count + raop.count)) {
            var configuration = try spec.configuration(port: port, password: password)
            configuration.recordingFolder = recordingFolder
            configuration.recordingName = recordingName(spec.receiver.name, kind: "airplay2")
            plan.airPlay2.append(configuration)
        }
        try planGroups(&plan)
        for fault in faults { try apply(fault, to: &plan) }
        return plan
    }

    private func planGroups(_ plan: inout SimulatedHouse.Plan) throws {
        for (index, spec) in groups.enumerated() {
            let name = spec.receiver.name
            guard !plan.cast.contains(where: { $0.name == name }) else {
                throw ValidationError("Two receivers are called “\(name)”. Give each a name of its own.")
            }
            var configuration = SimulatedCastConfiguration(
                name: name, host: spec.receiver.host,
                port: spec.receiver.port ?? (firstPort == 0 ? 0 : Self.groupPort + index), httpPort: nil)
            configuration.model = "Google Cast Group"
            configuration.capabilities = 2_052 | 32
            configuration.idleApp = .none
            configuration.recordingFolder = recordingFolder
            let virtual = spec.members.filter { member in !cast.contains { $0.name == member } }
            configuration.group = SimulatedCastGroup(
                members: virtual.map { .init(id: SimulatedCastConfiguration(name: $0).deviceUUID, name: $0) })
            plan.cast.append(configuration)
            plan.members[name] = spec.members.filter { !virtual.contains($0) }
        }
    }

    /// What a receiver's recording is called without its extension. A device of several kinds has one of each.
    func recordingName(_ name: String, kind: String) -> String {
        let kinds = [cast, raop, airPlay2.map(\.receiver)].count { $0.contains { $0.name == name } }
        return kinds > 1 ? "\(name)-\(kind)" : name
    }

    private func checkNames() throws {
        for specs in [cast, raop, airPlay2.map(\.receiver)] {
            var seen: Set<String> = []
            for spec in specs where !seen.insert(spec.name).inserted {
                throw ValidationError("Two receivers are called “\(spec.name)”. Give each a name of its own.")
            }
        }
        var files: Set<String> = []
        let all =
            cast.map { recordingName($0.name, kind: "cast") } + raop.map { recordingName($0.name, kind: "raop") }
            + airPlay2.map { recordingName($0.receiver.name, kind: "airplay2") }
        for file in all where !files.insert(file).inserted {
            throw ValidationError("Two receivers would record to “\(file).wav”. Give one another name.")
        }
    }

    /// Cast receivers first, then AirPlay 1 and AirPlay 2, in the order of the command line.
    private func ports() throws -> [Int] {
        let specs = cast + raop + airPlay2.map(\.receiver)
        var taken: Set<Place> = []
        for spec in specs {
            guard let port = spec.port, port > 0 else { continue }
            guard taken.insert(Place(host: spec.host, port: port)).inserted else {
                throw ValidationError("Two receivers cannot listen on port \(port) of \(spec.host).")
            }
        }
        var next = firstPort
        return try specs.enumerated().map { index, spec in
            if let port = spec.port { return port }
            if firstPort == 0 { return 0 }
            var port = next ?? standardPort(index)
            while !taken.insert(Place(host: spec.host, port: port)).inserted { port += 1 }
            guard port <= 65_535 else { throw ValidationError("There are not enough ports after \(firstPort ?? 0).") }
            if next != nil { next = port + 1 }
            return port
        }
    }

    private func standardPort(_ index: Int) -> Int {
        if index < cast.count { return Self.castPort }
        return index < cast.count + raop.count ? Self.raopPort : Self.airPlay2Port
    }

    private func apply(_ fault: SimulatedFault, to plan: inout SimulatedHouse.Plan) throws {
        let all = cast + raop + airPlay2.map(\.receiver) + groups.map(\.receiver)
        if let name = fault.receiver, !all.contains(where: { $0.name == name }) {
            let names = all.map(\.name).joined(separator: ", ")
            throw ValidationError("“\(fault.text)”: there is no receiver “\(name)” here; there is \(names).")
        }
        var applied = false
        for index in plan.cast.indices where fault.receiver == nil || fault.receiver == plan.cast[index].name {
            if fault.apply(to: &plan.cast[index]) { applied = true }
        }
        for index in plan.raop.indices where fault.receiver == nil || fault.receiver == plan.raop[index].name {
            if fault.apply(to: &plan.raop[index]) { applied = true }
        }
        for index in plan.airPlay2.indices where fault.receiver == nil || fault.receiver == plan.airPlay2[index].name {
            if fault.apply(to: &plan.airPlay2[index]) { applied = true }
        }
        guard applied else {
            let kind = fault.deed.isOfCast ? "--cast" : "--raop or --airplay2"
            throw ValidationError("“\(fault.text)” is a fault of \(kind) receivers, and does not suit this one.")
        }
    }
}

extension SimulatedFault.Deed {
    /// Of Cast receivers only.
    fileprivate var isOfCast: Bool {
        switch self {
        case .loadFailed, .cast, .stream, .authentication: true
        default: false
        }
    }
}
