import Foundation
import PeerSupport
import RouteModel
import RouterAPI
import Testing

@testable import RouterDaemon

/// Somebody else's reading of the document: requests of every kind that it allows, and of every kind that it does not.
@Suite("The API against its own document", .timeLimit(.minutes(20)))
struct SchemathesisTests {
    private static let isLong = ProcessInfo.processInfo.environment["ROUTER_LONG"] == "1"

    private static func program() throws -> String {
        let folder = ProcessInfo.processInfo.environment["ROUTER_PEERS"] ?? ".build/peers"
        let path = folder + "/bin/schemathesis"
        guard FileManager.default.isExecutableFile(atPath: path) else {
            try Test.cancel("schemathesis is not in \(folder)/bin (ROUTER_PEERS)")
        }
        return path
    }

    @Test("schemathesis finds no server error, and no answer off the document")
    func document() async throws {
        let program = try Self.program()
        // Scenes want to be trusted.
        let token = "only-of-this-test"
        var house = try ServiceHouse { options, folder in
            options.token = APIToken(token)
            let music = folder.appendingPathComponent("music")
            try FileManager.default.createDirectory(at: music, withIntermediateDirectories: true)
            options.roots = [music.path]
            // Announcements and the like may be waited for.
            options.limits.requestsPerSecond = 100_000
            options.limits.burst = 100_000
        }
        house.parts = ServiceHouse.scenes
        let configuration = house.folder.appendingPathComponent("schemathesis.toml")
        try await house.live { reached in
            for room in ["Den", "Lounge"] {
                _ = try await reached.client.play(
                    PlayRequest(what: ["http://h/one", "http://h/two"], rooms: [room]))
            }
            // A list with too many entries may well be too large as a whole.
            try Data(
                """
                [checks]
                negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 429]
                """.utf8
            ).write(to: configuration)
            let outcome = try await Command.run(
                program,
                [
                    "--config-file", configuration.path, "run", "http://127.0.0.1:\(reached.port)/api/v1/openapi.json",
                    "--header", "Authorization: Bearer \(token)", "--phases",
                    Self.isLong ? "coverage,fuzzing,stateful" : "coverage,fuzzing", "--max-examples",
                    Self.isLong ? "30" : "10", "--checks", Self.checks, "--seed", "5", "--generation-database",
                    ":memory:", "--exclude-operation-id", "followEvents", "--suppress-health-check", "all",
                    "--warnings", "off", "--request-timeout", "30", "--no-color",
                ] + (Self.isLong ? ["--max-time", "200"] : []))
            #expect(outcome.status == 0, "\(Self.shortened(outcome.output))\n\(outcome.errors.suffix(2000))")
            #expect(try await reached.client.status().pid == Int(getpid()), "it is still there")
        }
    }

    /// What it reports, without the bodies of a megabyte that it also tries.
    private static func shortened(_ report: String) -> String {
        report.split(separator: "\n", omittingEmptySubsequences: false).map { String($0.prefix(400)) }.suffix(200)
            .joined(separator: "\n")
    }

    /// Not those that take a refusal for what it means (a room that is not there) for a fault.
    private static let checks = [
        "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
        "response_schema_conformance", "negative_data_rejection", "unsupported_method", "allow_header_conformance",
    ].joined(separator: ",")
}
