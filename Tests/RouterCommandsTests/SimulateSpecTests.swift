import ArgumentParser
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
        ])
    func badFault(text: String, part: String) {
        let error = #expect(throws: ValidationError.self) { try SimulatedFault(parsing: text) }
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }
}
