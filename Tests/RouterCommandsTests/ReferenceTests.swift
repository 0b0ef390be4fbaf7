import ArgumentParser
import Foundation
import Testing

@testable import RouterCommands

@Suite("The command reference")
struct ReferenceTests {
    private static let path =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Sources/RouterCommands/RouterCommands.docc/Commands.md").standardizedFileURL.path

    @Test("the page says what the program says: ROUTER_WRITE=1 writes it anew")
    func isCurrent() throws {
        let made = try CommandReference.markdown(RouterCommand._dumpHelp())
        if ProcessInfo.processInfo.environment["ROUTER_WRITE"] == "1" {
            try made.write(toFile: Self.path, atomically: true, encoding: .utf8)
        }
        let kept = try String(contentsOfFile: Self.path, encoding: .utf8)
        let first = zip(made.split(separator: "\n"), kept.split(separator: "\n")).first { $0 != $1 }
        #expect(made == kept, "stale from: \(first.map { "\($0.0)" } ?? "its end")")
    }

    @Test("every command has its place in it, with a sentence and an example")
    func isWhole() throws {
        let page = try CommandReference.markdown(RouterCommand._dumpHelp())
        for command in RouterCommand.configuration.subcommands {
            let name = command.configuration.commandName ?? "?"
            #expect(page.contains("\n## router \(name)\n"), "\(name)")
            for verb in command.configuration.subcommands {
                let verbName = verb.configuration.commandName ?? "?"
                #expect(page.contains("\n### router \(name) \(verbName)\n"), "\(name) \(verbName)")
                #expect(!verb.configuration.abstract.isEmpty)
            }
        }
        #expect(page.contains("- `-o, --output <output>`") && page.contains("| 124 |"))
    }
}
