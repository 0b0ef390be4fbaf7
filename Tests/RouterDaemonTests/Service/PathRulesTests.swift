import Foundation
import RouteModel
import RouterAPI
import Testing

@testable import RouterDaemon

@Suite("What clients by TCP may name")
struct PathRulesTests {
    @Test("one request has so many entries of folders looked at, however it names them")
    func budget() throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "paths-\(UUID())")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: root) }
        for number in 0..<100 { try Data().write(to: root.appending(path: "\(number).mp3")) }
        let rules = PathRules(roots: [root.path])
        func look(_ words: [String]) throws -> [String] {
            try rules.allowed(words, workingDirectory: "/", for: .network(address: "192.0.2.1", trusted: true))
        }
        let same = try look(Array(repeating: root.path, count: 1000))
        #expect(same.count == 1000 && Set(same).count == 1)
        let others = (1...250).map { root.path + String(repeating: "/.", count: $0) }
        #expect(try look(Array(others.prefix(150))).count == 150)
        let error = #expect(throws: RouterError.self) { try look(others) }
        #expect(error?.code == .forbidden && error?.hint != nil)
    }
}
