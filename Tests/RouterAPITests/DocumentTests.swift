import Foundation
import RouteModel
import Testing

@testable import RouterAPI

@Suite("The API's document and its table")
struct DocumentTests {
    /// Run with ROUTER_UPDATE=1 to write it.
    @Test("Protocols/api/openapi.json is what the route table and the types say")
    func documentIsCurrent() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Protocols/api/openapi.json")
        let json = try OpenAPIDocument.json()
        if ProcessInfo.processInfo.environment["ROUTER_UPDATE"] == "1" {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(json.utf8).write(to: file)
        }
        let committed = try? String(contentsOf: file, encoding: .utf8)
        #expect(
            committed == json,
            "run: ROUTER_UPDATE=1 .build/debug/routerPackageTests.xctest --testing-library swift-testing --filter DocumentTests"
        )
    }

    @Test("every operation has a row, a path of its own, and values for its path")
    func table() {
        #expect(Set(RouteTable.operations.map(\.id)) == Set(OperationID.allCases))
        #expect(RouteTable.operations.count == OperationID.allCases.count)
        #expect(Set(RouteTable.operations.map { "\($0.method) \($0.path)" }).count == OperationID.allCases.count)
        for operation in RouteTable.operations {
            let names = operation.path.split(separator: "/").filter { $0.hasPrefix("{") }
            #expect(
                names.map { String($0.dropFirst().dropLast()) }
                    == operation.parameters.filter { $0.place == .path }.map(\.name))
        }
    }

    @Test("a path is found again with the values that it was made of")
    func match() throws {
        for operation in RouteTable.operations {
            let values = operation.parameters.filter { $0.place == .path }.map { _ in "a/b %2e ü?&.." }
            guard
                case .operation(let found, let back) = RouteTable.match(
                    method: operation.method, path: operation.path(values))
            else {
                Issue.record("\(operation.id) is not found")
                continue
            }
            #expect(found.id == operation.id)
            #expect(back == values)
        }
        guard case .otherMethods(let methods) = RouteTable.match(method: "PATCH", path: "/api/v1/rooms") else {
            Issue.record("PATCH of rooms")
            return
        }
        #expect(methods.sorted() == ["GET", "POST"])
        for path in ["/", "/api/v1", "/api/v1/rooms/", "/api/v1/rooms/%zz", "/api/v1/rooms/%ff", "/API/v1/rooms"] {
            guard case .nothing = RouteTable.match(method: "GET", path: path) else {
                Issue.record("\(path) is found")
                continue
            }
        }
    }

    @Test("every event's payload has a schema that its own JSON fits")
    func payloads() throws {
        let components = try OpenAPIDocument.components()
        let reader = SchemaReader()
        for event in Samples.events {
            let schema = try #require(APIEvent.payloads.first { $0.name == event.name }).type
            let json = try JSONReader.read(Array(try APIJSON.encode(event.payload)))
            let problem = SchemaCheck(components: components).problem(json, try reader.schema(of: schema))
            #expect(problem == nil, "\(event.name): \(String(describing: problem))")
        }
    }
}

@Suite("Where a daemon is, and what it says")
struct PlaceAndProblemTests {
    @Test("the socket is in the runtime folder, or else in the state folder")
    func defaultSocket() {
        #expect(
            RouterPlace.defaultSocket(environment: ["XDG_RUNTIME_DIR": "/run/user/7", "HOME": "/h"])
                == .socket(path: "/run/user/7/router/router.sock"))
        for environment in [["HOME": "/h"], ["HOME": "/h", "XDG_RUNTIME_DIR": "relative"]] {
            #expect(
                RouterPlace.defaultSocket(environment: environment)
                    == .socket(path: "/h/.local/state/router/router.sock"))
        }
    }

    @Test("places as people write them")
    func places() throws {
        #expect(try RouterPlace("/run/x.sock") == .socket(path: "/run/x.sock"))
        #expect(try RouterPlace("den") == .http(host: "den", port: 7765))
        #expect(try RouterPlace("http://10.0.0.1:80/") == .http(host: "10.0.0.1", port: 80))
        #expect(try RouterPlace("[::1]:81") == .http(host: "::1", port: 81))
        for text in ["", "den:", "den:0", "den:70000", "https://den", "a b", "den/x", "[::1", "u@den", "::1"] {
            let error = #expect(throws: RouterError.self, "\(text)") { try RouterPlace(text) }
            #expect(error?.code == .configuration && error?.hint != nil)
        }
    }

    @Test("C21 an error comes back as it was thrown, by the status of its code")
    func problems() throws {
        let error = RouterError(
            .routeAmbiguous, "two rooms", hint: "Say which", scope: .route, retry: .afterUserAction, causes: ["a"],
            candidates: ["Kitchen", "Den"])
        let problem = Problem(error)
        #expect(problem.status == 409)
        let back = try APIJSON.decode(Problem.self, from: APIJSON.encode(problem))
        #expect(back.error == error)
        #expect(Problem(RouterError(.queueConflict, "m")).status == 412)
        #expect(Problem(RouterError(.forbidden, "m")).status == 403)
    }

    @Test("a token is compared as a whole, and never printed")
    func tokens() {
        let token = APIToken("secret")
        #expect(token.matches("secret"))
        for text in ["", "secre", "secrets", "Secret", "secret\u{0}"] { #expect(!token.matches(text)) }
        #expect(!"\(token)".contains("secret"))
        #expect(!String(reflecting: token).contains("secret"))
    }
}
