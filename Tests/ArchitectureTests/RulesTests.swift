import Testing

/// That each rule can fail: what is planted here must be found.
@Suite("Architecture rules find what they are for")
struct RulesTests {
    private func file(_ path: String, _ text: String) -> SourceFile { SourceFile(path: path, text: text) }

    @Test(
        "a forbidden import is found in every spelling",
        arguments: [
            "import NIOCore", "  import NIOCore", "@testable import NIOCore", "private import NIOCore",
            "@preconcurrency import NIOCore", "@_exported public import NIOCore", "@_spi(Testing) import NIOCore",
            "import struct NIOCore.ByteBuffer", "import Foundation; import NIOCore", "import\tNIOCore",
            "#if canImport(NIOCore)\nimport NIOCore\n#endif", "/* why */ import NIOCore", "import NIOCore // fine",
        ])
    func forbiddenImport(text: String) {
        let findings = Rules.imports([file("Sources/RouterCore/A.swift", "import RouteModel\n\(text)\n")])
        #expect(findings.count == 1)
        #expect(findings.first?.contains("RouterCore may not import NIOCore") == true)
        #expect(Rules.imports([file("Sources/CastV2/A.swift", text)]).isEmpty)
    }

    @Test(
        "what only looks like an import is none",
        arguments: [
            "// import NIOCore", "/* import NIOCore */", "let a = \"import NIOCore\"", "let important = NIOCore()",
            "let a = \"\"\"\nimport NIOCore\n\"\"\"", "let a = #\"\n\"#", "/* a /* b */ import NIOCore */",
            "let a = \"\\\" \"; let b = \"\nimport Foundation",
        ])
    func noImport(text: String) {
        #expect(Rules.imports([file("Sources/RouterCore/A.swift", text)]).isEmpty)
    }

    @Test("a module without a row is found")
    func unknownModule() {
        #expect(Rules.imports([file("Sources/Sundries/A.swift", "")]).count == 1)
    }

    @Test("the engine may not know the wire, nor the wire the product")
    func directions() {
        let planted = [
            ("RouterCore", "CastV2"), ("RouterCore", "Media"), ("CastV2", "RouteModel"), ("AirPlay", "RouteBackend"),
            ("RouteModel", "Logging"), ("RouteBackend", "RouterCore"), ("CastBackend", "AirPlay"),
            ("RouterCommands", "RouterCore"), ("router", "RouterDaemon"), ("RouterStore", "RouteBackend"),
            ("SimulatedReceivers", "CastBackend"), ("Pacing", "RouteModel"), ("AvahiDiscovery", "CastV2"),
        ]
        for (module, imported) in planted {
            #expect(Rules.imports([file("Sources/\(module)/A.swift", "import \(imported)")]).count == 1)
        }
    }

    private func manifest(core: String) throws -> Manifest {
        try Manifest(
            """
            let nio: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
            // module("Commented", ["Nobody"]),
            targets: [
                .target(name: "CPosix"), module("RouteModel", []), module("RouteBackend", ["RouteModel"]),
                module("CastV2", ["COpenSSL", nio]), module("Pacing", ["CPosix"]),
                module(
                    "RouterCore",
                    [\(core)]),
                .executableTarget(name: "router", dependencies: ["RouterCommands"], swiftSettings: strict),
            ]
            """)
    }

    @Test("a dependency beyond the row is found, and one on the wire in the engine's graph")
    func manifestRules() throws {
        let good = try manifest(core: "\"RouteModel\", \"RouteBackend\"")
        #expect(good.sources.map(\.name).count == 7)
        #expect(Rules.dependencies(good).isEmpty)
        #expect(Rules.engineGraph(good).isEmpty)
        #expect(Rules.dependencies(try manifest(core: "\"RouteModel\", nio")).count == 1)
        #expect(Rules.engineGraph(try manifest(core: "\"CastV2\"")).count == 2)
        #expect(throws: Manifest.Unreadable.self) { try manifest(core: "surprise") }
        #expect(throws: Manifest.Unreadable.self) { try Manifest("let package = Package()") }
    }

    @Test("a file of 601 lines is found, one of 600 or a generated one is not")
    func lengths() {
        let lines = { (count: Int) in String(repeating: "x\n", count: count) }
        #expect(Rules.lengths([file("Sources/A/A.swift", lines(600))]).isEmpty)
        #expect(Rules.lengths([file("Sources/A/A.swift", lines(601))]).count == 1)
        #expect(Rules.lengths([file("Sources/CastV2/Envelope/a.pb.swift", lines(601))]).isEmpty)
    }

    @Test("folders without a meaning are found")
    func folders() {
        let planted = ["Sources/A/Utils", "Sources/A/misc", "Tests/New", "Sources/Key Exchange", "Sources/Legacy"]
        #expect(Rules.folderNames(planted + ["Sources/A/Newspaper", "Tests/Seeds"]).count == planted.count)
        #expect(Rules.topLevel(["Sources", ".ci", "notes.txt", "README.md"]) == ["notes.txt: not at the top level"])
    }

    @Test(
        "an unstructured task is found in every spelling",
        arguments: [
            "Task { }", "Task{ }", "let t = Task.detached { }", "Task(priority: .high) { }", "Task<Void, Never> { }",
            "Task.detached(priority: .low) {", "Task { [weak self] in }", "Task.immediate { }",
            "Task(name: \"a\") { }",
        ])
    func tasks(text: String) {
        let files = [file("Sources/A/A.swift", text)]
        #expect(Rules.unstructuredTasks(files, allowances: []).count == 1)
        let one = Allowances.Tasks(path: "Sources/A/A.swift", count: 1, why: "")
        #expect(Rules.unstructuredTasks(files, allowances: [one]).isEmpty)
        let two = Allowances.Tasks(path: "Sources/A/A.swift", count: 2, why: "")
        #expect(Rules.unstructuredTasks(files, allowances: [two]).count == 1)
        #expect(Rules.unstructuredTasks([], allowances: [one]).count == 1)
    }

    @Test(
        "structured concurrency is not taken for an unstructured task",
        arguments: [
            "try await Task.sleep(for: .seconds(1))", "group.addTask { }", "withTaskGroup(of: Void.self) { }",
            "// Task { }", "if Task.isCancelled { }", "struct SendTask { }", "var task: Task<Void, Never>?",
            "withTaskCancellationHandler { }",
        ])
    func noTasks(text: String) {
        #expect(Rules.unstructuredTasks([file("Sources/A/A.swift", text)], allowances: []).isEmpty)
    }

    @Test("a lock is found outside the types that may have one")
    func locks() {
        for text in ["let a = Mutex(0)", "let l = NSLock()", "pthread_mutex_lock(&m)", "DispatchSemaphore(value: 0)"] {
            #expect(Rules.locks([file("Sources/RouterCore/A.swift", text)]).count == 1)
            #expect(Rules.locks([file("Sources/RouteBackend/LatestValue.swift", text)]).isEmpty)
            #expect(Rules.locks([file("Sources/RouterTestKit/A.swift", text)]).isEmpty)
        }
        #expect(Rules.locks([file("Sources/RouterCore/A.swift", "// no Mutex here")]).isEmpty)
    }

    @Test("printing is found in a library")
    func printing() {
        let text = "print(1)\n  NSLog(\"a\")\nfoo.print(2)\nreprint(3)\n// print(4)\n"
        #expect(Rules.printing([file("Sources/RouterCore/A.swift", text)]).count == 2)
        #expect(Rules.printing([file("Sources/RouterCommands/A.swift", text)]).isEmpty)
    }

    @Test("a test that run.sh would not run is found")
    func testLibraries() {
        #expect(Rules.otherTestLibraries([file("Tests/A/A.swift", "import XCTest")]).count == 1)
        #expect(Rules.otherTestLibraries([file("Tests/A/A.swift", "import Testing")]).isEmpty)
    }
}
