import Foundation
import RouteBackend
import RouterTestKit
import Testing

/// Cases are mostly waiting, each for a device of its own, so that some are run beside each other; in the long form one
/// after the other.
@Suite("every backend keeps the contract", .serialized, .timeLimit(.minutes(2)))
struct BackendConformanceTests {
    private static let rounds = BackendConformance.cases.inRounds(of: 3)

    @Test("C4 C8 C10 C17 K2 A10 Cast, RAOP, AirPlay 2 and the template", arguments: rounds)
    func conforms(_ names: [String]) async {
        await withDiscardingTaskGroup { group in
            for name in names {
                for kind in Kind.allCases { group.addTask { await kind.check(name) } }
            }
        }
    }

    private enum Kind: String, CaseIterable {
        case cast, raop, airPlay2, template

        func check(_ name: String) async {
            do {
                switch self {
                case .cast: try await run(name, on: CastHarness()) { await $0.stop() }
                case .raop: try await run(name, on: RAOPHarness()) { await $0.stop() }
                case .airPlay2: try await run(name, on: AirPlay2Harness()) { await $0.stop() }
                case .template: try await run(name, on: TemplateHarness()) { await $0.stop() }
                }
            } catch {
                Issue.record("\(rawValue), “\(name)”: \(error)")
            }
        }

        private func run<Harness: BackendHarness>(
            _ name: String, on harness: Harness, stop: (Harness) async -> Void
        ) async throws {
            let result: Result<Void, any Error>
            do {
                result = .success(try await BackendConformance(harness).run(name))
            } catch {
                result = .failure(error)
            }
            await stop(harness)
            try result.get()
        }
    }
}

extension [String] {
    /// So many beside each other; one in the long form.
    func inRounds(of count: Int) -> [[String]] {
        let count = ProcessInfo.processInfo.environment["ROUTER_LONG"] == "1" ? 1 : count
        return stride(from: 0, to: self.count, by: count).map { Array(self[$0..<Swift.min($0 + count, self.count)]) }
    }
}
