/// Why a room plays by one endpoint and not by another: what `--explain` prints.
public struct RouteChoice: Codable, Sendable, Hashable {
    public var route: RouteID
    public var name: String
    /// Best first. Those that cannot be used come last, each with the reason.
    public var candidates: [Candidate]

    public init(route: RouteID, name: String, candidates: [Candidate]) {
        self.route = route
        self.name = name
        self.candidates = candidates
    }

    /// The endpoint to try first, if any can be used.
    public var chosen: Candidate? { candidates.first { $0.usable } }

    public struct Candidate: Codable, Sendable, Hashable {
        public var endpoint: Endpoint
        public var usable: Bool
        /// Why it stands where it stands, weightiest first.
        public var reasons: [String]
        /// What is lost by taking it.
        public var losses: [String]

        public init(endpoint: Endpoint, usable: Bool, reasons: [String], losses: [String]) {
            self.endpoint = endpoint
            self.usable = usable
            self.reasons = reasons
            self.losses = losses
        }
    }
}

/// That an endpoint failed before sound, and with which firmware: it is tried last until the firmware changes.
public struct EndpointFailure: Codable, Sendable, Hashable {
    public var endpoint: EndpointID
    public var firmware: String?
    public var code: RouterError.Code
    public var message: String

    public init(endpoint: EndpointID, firmware: String?, code: RouterError.Code, message: String) {
        self.endpoint = endpoint
        self.firmware = firmware
        self.code = code
        self.message = message
    }
}
