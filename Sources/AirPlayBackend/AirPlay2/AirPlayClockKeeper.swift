import AirPlay

/// Holds the process's PTP clock: its ports are open while some session needs them, and can be had by others else.
actor AirPlayClockKeeper {
    private let ports: PTPPorts
    private var service: PTPClockService?
    private var users = 0

    init(ports: PTPPorts = .standard) { self.ports = ports }

    /// The clock, running. Each success is to be given back by `release`. Throws as `PTPClockService.start`.
    func take() async throws(PTPError) -> PTPClockService {
        let service: PTPClockService
        if let known = self.service {
            service = known
        } else {
            service = try PTPClockService(ports: ports)
            self.service = service
        }
        users += 1
        do {
            try await service.start()
        } catch {
            await release()
            throw error
        }
        return service
    }

    func release() async {
        users -= 1
        // The clock itself stays: its time goes on as it was.
        if users == 0 { await service?.stop() }
    }
}
