import ArgumentParser
import Testing

@testable import RouterCommands

@Suite("R8 --cast and --raop without a value")
struct SimulateArgumentsTests {
    @Test(
        "a bare one gets a name of ours",
        arguments: [
            ("simulate --cast", "simulate --cast Simulated Cast"),
            ("simulate --raop --record x", "simulate --raop Simulated Speaker --record x"),
            ("simulate --cast --raop Kitchen", "simulate --cast Simulated Cast --raop Kitchen"),
            ("simulate --cast --cast", "simulate --cast Simulated Cast --cast Simulated Cast 2"),
            ("simulate --cast TV --cast -v", "simulate --cast TV --cast Simulated Cast -v"),
        ])
    func bare(words: String, completed: String) {
        let arguments = words.split(separator: " ").map(String.init)
        #expect(SimulateArguments.complete(arguments).joined(separator: " ") == completed)
    }

    @Test(
        "everything else stays as it was",
        arguments: [
            ["simulate", "--cast", "TV"], ["simulate", "--cast=TV", "--raop=Kitchen@10.0.0.1"],
            ["play", "--cast"], ["simulate", "--help"], ["help", "simulate"], [],
        ])
    func untouched(arguments: [String]) {
        #expect(SimulateArguments.complete(arguments) == arguments)
    }

    @Test("the command parses what comes out, and names what it cannot read")
    func parses() throws {
        let words = ["simulate", "--cast", "--raop", "Kitchen@[::1]:5100", "--port", "0", "--fault", "Kitchen:busy"]
        let command = try #require(
            try RouterCommand.parseAsRoot(SimulateArguments.complete(words)) as? SimulateCommand)
        #expect(command.cast == [SimulatedReceiverSpec(name: "Simulated Cast")])
        #expect(command.raop == [SimulatedReceiverSpec(name: "Kitchen", host: "::1", port: 5_100)])
        #expect(command.fault.map(\.deed) == [.busy])
        let refusals = [
            (["simulate", "--cast", "TV@lounge"], "“lounge” is not an address"),
            (["simulate", "--cast", "TV", "--fault", "fire"], "never-answer"),
            (["simulate", "--cast", "TV", "--port", "70000"], "0 to 65000"),
            (["simulate", "--raop", "Kitchen", "--root-out", "x"], "--root-out"),
        ]
        for (words, part) in refusals {
            let error = #expect(throws: (any Error).self) { try RouterCommand.parseAsRoot(words) }
            guard let error else { continue }
            #expect(RouterCommand.fullMessage(for: error).contains(part), "\(RouterCommand.fullMessage(for: error))")
            #expect(RouterCommand.exitCode(for: error).rawValue == 64)
        }
    }
}
