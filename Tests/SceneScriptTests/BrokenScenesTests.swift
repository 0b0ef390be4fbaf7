import Foundation
import Testing

@testable import SceneScript

/// Each file in `Broken` with what is told of it, as text. `ROUTER_WRITE_GENERATED=1` writes the expected text anew, to
/// be read before it is committed.
@Suite struct BrokenScenesTests {
    private static let folder = repository.appending(path: "Tests/SceneScriptTests/Broken")

    static let names: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasSuffix(".yaml") }.map { String($0.dropLast(5)) }.sorted()
    }()

    @Test("R4 there are at least forty broken scenes") func enough() { #expect(Self.names.count >= 40) }

    @Test("R4 a broken scene is told of with place, caret and cure", arguments: names)
    func broken(name: String) throws {
        let file = Self.folder.appending(path: "\(name).yaml")
        let text = try String(contentsOf: file, encoding: .utf8)
        let (scene, diagnostics) = SceneParser.parse(text, path: "\(name).yaml")
        let told = diagnostics.map(\.description).joined(separator: "\n") + "\n"
        let expected = Self.folder.appending(path: "\(name).txt")
        if ProcessInfo.processInfo.environment["ROUTER_WRITE_GENERATED"] == "1" {
            try told.write(to: expected, atomically: true, encoding: .utf8)
        }
        #expect(told == (try String(contentsOf: expected, encoding: .utf8)))
        #expect(!diagnostics.isEmpty)
        #expect((scene == nil) == diagnostics.hasErrors)
        for diagnostic in diagnostics {
            #expect(diagnostic.help?.isEmpty == false)
            #expect(diagnostic.source == SceneSource(text, path: "").line(diagnostic.span.line))
        }
    }
}
