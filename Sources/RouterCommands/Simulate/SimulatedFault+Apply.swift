import Foundation
import RouteModel
import SimulatedReceivers

extension SimulatedFault {
    func apply(to configuration: inout SimulatedCastConfiguration) throws {
        switch kind {
        case .refuse: configuration.faults.refusesConnections = true
        case .silent: configuration.faults.neverAnswers = true
        case .slow(let seconds): configuration.faults.answerDelay = .seconds(seconds)
        case .drop(let message): configuration.faults.dropsConnectionAtMessage = message
        case .loadFailed(let code): configuration.faults.loadFails = code
        case .busy, .wrongPassword, .lose: try refuse(configuration.name, "Google Cast")
        }
    }

    func apply(to configuration: inout SimulatedRAOPConfiguration) throws {
        switch kind {
        case .refuse: configuration.faults.closesAfterRequests = 1
        case .silent: configuration.faults.neverAnswers = true
        case .slow(let seconds): configuration.faults.answerDelay = seconds
        case .drop(let message): configuration.faults.closesAfterRequests = message
        case .busy: configuration.faults.isBusy = true
        // Nobody can know this one.
        case .wrongPassword: configuration.password = UUID().uuidString
        case .lose(let share): configuration.faults.dropAudio = share
        case .loadFailed: try refuse(configuration.name, "AirPlay")
        }
    }

    /// For all receivers: those that can have it do. For one by name: it must be able to.
    private func refuse(_ name: String, _ family: String) throws {
        guard receiver != nil else { return }
        throw RouterError(
            .configuration, "\(name) cannot have that fault: it is not one of \(family) receivers",
            hint: "Faults are \(Self.words)")
    }
}
