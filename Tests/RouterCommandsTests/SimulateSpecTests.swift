import ArgumentParser
import SimulatedReceivers
import Testing

@testable import RouterCommands

@Suite("R8 receivers and faults as they are written")
struct SimulateSpecTests {
    @Test(
        "NAME[@ADDR[:PORT]]",
        arguments: [
            ("Kitchen", "Kitchen", "127.0.0.1", nil), ("Living Room@10.77.0.3", "Living Room", "10.77.0.3", nil),
            ("TV@127.0.0.1:8010", "TV", "127.0.0.1", 8_010), ("TV@127.0.0.1:0", "TV", "127.0.0.1", 0),
            ("TV@[::1]", "TV", "::1", nil), ("TV@[fe80::1]:8009", "TV", "fe80::1", 8_009),
            ("Anna@home@10.0.0.1", "Anna@home", "10.0.0.1", nil), ("Küche", "Küche", "127.0.0.1", nil),
        ] as [(String, String, String, Int?)])
    func receiver(text: String, name: String, host: String, port: Int?) throws {
        #expect(try SimulatedReceiverSpec(parsing: text) == SimulatedReceiverSpec(name: name, host: host, port: port))
    }

    @Test(
        "what is wrong is said",
        arguments: [
            ("", "empty"), ("@10.0.0.1", "empty"), ("a/b", "slash"), (".hidden", "dot"), ("TV@", "is not an address"),
            ("TV@localhost", "is not an address"), ("TV@10.0.0.1:http", "is not a port"),
            ("TV@10.0.0.1:", "is not a port"),
            ("TV@10.0.0.1:65536", "is not a port"), ("TV@::1", "brackets"), ("TV@[::1", "closing bracket"),
            ("TV@[::1]8009", "is no port"), ("TV@0.0.0.0", "all addresses"), ("TV@[::]", "all addresses"),
            (String(repeating: "x", count: 51), "at most 50"), ("a\u{1b}b", "cannot be a name"),
        ])
    func badReceiver(text: String, part: String) {
        let error = #expect(throws: ValidationError.self) { try SimulatedReceiverSpec(parsing: text) }
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    @Test(
        "[NAME:]FAULT[=VALUE]",
        arguments: [
            ("refuse", nil, .refuse), ("slow", nil, .slow(2)), ("slow=0.5", nil, .slow(0.5)), ("drop=7", nil, .drop(7)),
            ("wrong-password", nil, .wrongPassword), ("Kitchen:busy", "Kitchen", .busy), ("lose=3", nil, .lose(0.03)),
            ("load-failed", nil, .loadFailed(905)), ("A:B:load-failed=104", "A:B", .loadFailed(104)),
            ("never-answer", nil, .neverAnswer), ("stream-lose=5", nil, .stream(.lose(0.05))),
            ("TV:stream-reorder=100", "TV", .stream(.reorder(1))), ("stream-duplicate=0", nil, .stream(.duplicate(0))),
            ("stream-delay=30", nil, .stream(.delay(30))), ("stream-unanswered", nil, .stream(.unanswered)),
            ("stream-refused", nil, .stream(.refused(2))), ("stream-refused=9", nil, .stream(.refused(9))),
            ("stream-refused-again", nil, .stream(.refusedAgain)), ("stream-silent", nil, .stream(.silent)),
            ("stream-closed", nil, .stream(.closed)),
            ("TV:launch-status", "TV", .cast(.launchStatus)),
            ("volume=fixed", nil, .cast(.volume(.fixed))),
            ("no-decoder=audio/flac", nil, .cast(.noDecoder("audio/flac"))),
            (
                "pause@3", nil, .cast(.step(SimulatedCastStep(after: .seconds(3), .pressPause)))
            ),
            (
                "Both:move@2.5=9000", "Both",
                .cast(.step(SimulatedCastStep(after: .milliseconds(2_500), .moveLeader(port: 9_000))))
            ),
            (
                "other-remove@1=2", nil,
                .cast(.step(SimulatedCastStep(after: .seconds(1), .otherSender(.remove(at: 1)))))
            ),
            (
                "TV:other-insert@1=http://10.0.0.1:80/a", "TV",
                .cast(
                    .step(
                        SimulatedCastStep(
                            after: .seconds(1),
                            .otherSender(
                                .insert(url: "http://10.0.0.1:80/a", contentType: "audio/mpeg", before: nil)))))
            ),
        ] as [(String, String?, SimulatedFault.Deed)])
    func fault(text: String, receiver: String?, deed: SimulatedFault.Deed) throws {
        let fault = try SimulatedFault(parsing: text)
        #expect(fault.receiver == receiver)
        #expect(fault.deed == deed)
    }

    @Test(
        "an unknown fault, or a wrong value, is told with what there is",
        arguments: [
            ("fire", SimulatedFault.words), ("Kitchen:", SimulatedFault.words), ("drop", "drop=3"),
            ("drop=0", "drop=3"),
            ("lose", "lose=3"), ("lose=101", "percentage"), ("slow=x", "seconds"), ("busy=1", "takes no value"),
            ("stream-lose", "stream-lose=3"), ("stream-lose=nan", "percentage"), ("stream-delay=-1", "milliseconds"),
            ("stream-silent=1", "takes no value"), ("stream-fire", SimulatedFault.words),
            ("pause", "pause@3"), ("dance@3", "happens at a time"), ("pause@soon", "not a time"),
            ("volume=loud", "volume=fixed"), ("silence=1", "takes no value"), ("other-seek@1=x", "a number from"),
            ("other-load@1", "needs a value"),
        ])
    func badFault(text: String, part: String) {
        let error = #expect(throws: ValidationError.self) { try SimulatedFault(parsing: text) }
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    @Test("NAME[@ADDR[:PORT]]=MEMBER,…, and what is wrong with it")
    func group() throws {
        let spec = try SimulatedGroupSpec(parsing: "Both@10.0.0.9:42000=Kitchen,Study")
        #expect(spec.receiver == SimulatedReceiverSpec(name: "Both", host: "10.0.0.9", port: 42_000))
        #expect(spec.members == ["Kitchen", "Study"])
        for text in ["Both", "Both=", "Both=A,A", "=A"] {
            #expect(throws: ValidationError.self) { try SimulatedGroupSpec(parsing: text) }
        }
    }

    @Test("a group is one more Cast receiver, with members that are receivers and such as are only names")
    func plannedGroup() throws {
        let plan = try SimulatePlanner(
            cast: [SimulatedReceiverSpec(name: "A")], groups: [SimulatedGroupSpec(parsing: "Both=A,Ghost")]
        ).plan()
        #expect(plan.cast.map(\.name) == ["A", "Both"])
        #expect(plan.cast.last?.group?.members.map(\.name) == ["Ghost"])
        #expect(plan.cast.last.map { $0.capabilities & 32 } == 32)
        #expect(plan.members["Both"] == ["A"])
    }
}
