import RouteBackend
import RouteModel

/// The backend: a template for others. It finds nothing by itself; `--device null://kitchen` names a device.
///
/// A backend for real devices differs in three places: `serviceTypes` and `endpoint(from:)` read what devices announce,
/// `open` connects, and the session's pump writes to a socket.
public struct NullSinkProvider: RouteProvider {
    private let sinks: [String: NullSink]
    private let clock: any HostClock

    /// - Parameter sinks: the devices that are there, by name.
    public init(sinks: [NullSink], clock: any HostClock) {
        self.sinks = Dictionary(sinks.map { ($0.name.lowercased(), $0) }, uniquingKeysWith: { first, _ in first })
        self.clock = clock
    }

    /// A local, virtual player. A backend of a new protocol adds a case to `RouteProtocol`.
    public var family: RouteFamily { .mpris }

    public var serviceTypes: [String] { [] }

    public func endpoint(from record: ServiceRecord) -> Endpoint? { nil }

    public var uriSchemes: [String] { ["null"] }

    public func endpoint(from uri: DeviceURI) throws -> Endpoint {
        guard let sink = sinks[uri.host.lowercased()] else {
            throw RouterError(
                .configuration, "there is no null sink “\(uri.host)”", hint: "Name one that is there",
                candidates: sinks.values.map(\.name).sorted())
        }
        return endpoint(of: sink, named: uri.query["name"])
    }

    public func endpoint(of sink: NullSink, named name: String? = nil) -> Endpoint {
        Endpoint(
            id: EndpointID(rawValue: "null:\(sink.name)"), protocol: .mpris, name: name ?? sink.name,
            host: sink.name, port: 1, strongKeys: [StrongKey(.statedURI, "null://\(sink.name)")], kind: .virtual,
            origin: .stated, capabilities: NullSinkSession.capabilities)
    }

    public func open(_ endpoint: Endpoint, options: OpenOptions) async throws -> any RouteSession {
        options.phase("connecting")
        guard let sink = sinks[endpoint.host.lowercased()] else {
            throw RouterError(
                .routeUnreachable, "\(endpoint.name) does not answer", hint: "Check that it is there", scope: .route,
                retry: .later)
        }
        let session = NullSinkSession(sink: sink, endpoint: endpoint, clock: clock)
        // It makes no sound yet, and its volume stays what it is.
        if let other = sink.take(session) { await other.isTakenOver() }
        return session
    }
}
