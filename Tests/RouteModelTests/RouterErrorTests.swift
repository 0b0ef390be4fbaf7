import RouteModel
import Testing

@Suite("C21 Errors")
struct RouterErrorTests {
    /// The table of interfaces.md 1.3: code, HTTP, exit.
    static let table: [(RouterError.Code, http: Int, exit: Int32)] = [
        (.routeNotFound, 404, 3), (.routeAmbiguous, 409, 3), (.mediaNotFound, 404, 3), (.mediaForbidden, 502, 5),
        (.dependencyMissing, 500, 78), (.cancelled, 409, 130), (.authRequired, 424, 4), (.authFailed, 424, 4),
        (.pairingDenied, 424, 4), (.routeUnreachable, 502, 5), (.routeLost, 502, 5), (.mediaUnreachable, 502, 5),
        (.unsupported, 422, 6), (.unavailable, 422, 6), (.mediaUnsupported, 422, 6), (.routeBusy, 409, 1),
        (.queueConflict, 412, 1), (.commandSuperseded, 409, 1), (.timeout, 504, 5), (.sceneInvalid, 422, 65),
        (.configuration, 422, 78), (.rateLimited, 429, 1), (.itemFailed, 502, 1), (.protocolViolation, 502, 1),
        (.internal, 500, 70), (.storage, 500, 70),
    ]

    @Test("every code has the HTTP status and exit status of the table", arguments: table)
    func codes(code: RouterError.Code, http: Int, exit: Int32) {
        #expect(code.httpStatus == http)
        #expect(code.exitStatus == exit)
    }

    @Test("the daemon's absence, which only a client sees, exits 7")
    func daemon() { #expect(RouterError.Code.daemonUnavailable.exitStatus == 7) }

    @Test("no code exits 0 or 2")
    func kept() {
        for row in Self.table { #expect(![0, 2].contains(row.exit)) }
    }

    @Test("a description is the message and the hint, and no cause")
    func description() {
        let error = RouterError(.timeout, "it said nothing", hint: "Try again", causes: ["socket 7"])
        #expect("\(error)" == "it said nothing. Try again")
        #expect("\(RouterError(.timeout, "it said nothing"))" == "it said nothing")
    }
}
