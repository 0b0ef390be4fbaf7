import Foundation
import Testing

@Suite("Architecture")
struct ArchitectureTests {
    private let sources: [SourceFile]
    private let manifest: Manifest

    init() throws {
        sources = try SourceTree.files(in: ["Sources"], endings: [".swift", ".c", ".h"])
        manifest = try Manifest(String(contentsOfFile: SourceTree.root + "/Package.swift", encoding: .utf8))
        try #require(sources.count > 20, "the sources were not found under \(SourceTree.root)")
    }

    @Test("a module imports only what its row lists")
    func imports() { expectNone(Rules.imports(sources)) }

    @Test("the package's targets depend only on what their rows list")
    func dependencies() { expectNone(Rules.dependencies(manifest)) }

    @Test("every folder of Sources is a target of the package with a row in the table")
    func everyModuleHasARow() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: SourceTree.root + "/Sources")
        expectNone(folders.filter { ModuleTable.rows[$0] == nil })
    }

    @Test("no NIO and no wire module in the engine's graph")
    func engineGraph() { expectNone(Rules.engineGraph(manifest)) }

    @Test("no file is longer than 600 lines")
    func lengths() throws {
        let files = try SourceTree.files(
            in: ["Sources", "Tests", "Samples", "Protocols"], endings: [".swift", ".c", ".h", ".py", ".sh"])
        expectNone(Rules.lengths(files))
    }

    @Test("folders say what they hold")
    func folderNames() {
        expectNone(Rules.folderNames(SourceTree.folders(in: ["Sources", "Tests", "Samples", "Protocols"])))
    }

    @Test("nothing lies about at the top level")
    func topLevel() throws {
        expectNone(Rules.topLevel(try FileManager.default.contentsOfDirectory(atPath: SourceTree.root)))
    }

    @Test("unstructured tasks are counted, each with a reason")
    func unstructuredTasks() { expectNone(Rules.unstructuredTasks(sources, allowances: Allowances.tasks)) }

    @Test("locks are in the types that may have one")
    func locks() { expectNone(Rules.locks(sources)) }

    @Test("libraries do not print")
    func printing() { expectNone(Rules.printing(sources)) }

    @Test("tests are written for Swift Testing: run.sh runs no other")
    func oneTestLibrary() throws {
        expectNone(Rules.otherTestLibraries(try SourceTree.files(in: ["Tests"], endings: [".swift"])))
    }

    private func expectNone(_ findings: [String], sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(findings.isEmpty, "\(findings.joined(separator: "\n"))", sourceLocation: sourceLocation)
    }
}
