import ArgumentParser
import RouteModel
import Synchronization
import Testing

@testable import RouterCommands

@Suite("R6 router pair: the dialog")
struct PairTests {
    private static let wrong = RouterError(.authFailed, "TV says that this is not its code", hint: "Begin again")

    private static func progress(_ state: PairingProgress.State, kind: PairingKind = .pin) -> PairingProgress {
        PairingProgress(id: "pr-1", device: "TV", kind: kind, state: state, prompt: "Type the code that TV shows")
    }

    /// What came of it, the codes that were given, and how often was asked.
    private static func run(
        _ answers: [String?], codes: [Result<PairingProgress, RouterError>], kind: PairingKind = .pin,
        pin: String? = nil, isPersonThere: Bool = true
    ) async throws -> (result: Result<Int32, RouterError>, router: ScriptedRouter, hidden: [Bool]) {
        var script = ScriptedRouter.Script()
        script.pairing = progress(.waiting, kind: kind)
        script.codes = codes
        let router = ScriptedRouter(script)
        let left = Mutex(answers)
        let hidden = Mutex<[Bool]>([])
        var wizard = PairWizard(options: try GlobalOptions.parse(["-q"]), control: router, pin: pin)
        wizard.isPersonThere = isPersonThere
        wizard.ask = { _, isHidden in
            hidden.withLock { $0.append(isHidden) }
            return left.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        }
        do {
            return (.success(try await wizard.run("TV")), router, hidden.withLock { $0 })
        } catch let error as RouterError {
            return (.failure(error), router, hidden.withLock { $0 })
        }
    }

    @Test("the right code at once, with its blanks taken off; it is shown as it is typed")
    func right() async throws {
        let (result, router, hidden) = try await Self.run([" 1234 "], codes: [.success(Self.progress(.done))])
        #expect(result == .success(0) && router.given == ["1234"] && hidden == [false])
        #expect(router.cancelled == 0)
    }

    @Test("a wrong one is asked for again where a person is there, and not from a pipe")
    func wrongOnce() async throws {
        let codes: [Result<PairingProgress, RouterError>] = [.failure(Self.wrong), .success(Self.progress(.done))]
        let (result, router, _) = try await Self.run(["1111", "1234"], codes: codes)
        #expect(result == .success(0) && router.given == ["1111", "1234"])
        let (piped, pipe, _) = try await Self.run(["1111", "1234"], codes: codes, isPersonThere: false)
        #expect(piped == .failure(Self.wrong) && pipe.given == ["1111"] && pipe.cancelled == 1)
    }

    @Test("five wrong ones are enough, and one from --pin is")
    func enough() async throws {
        let codes = Array(repeating: Result<PairingProgress, RouterError>.failure(Self.wrong), count: 9)
        let (result, router, _) = try await Self.run(Array(repeating: "1", count: 9), codes: codes)
        #expect(result == .failure(Self.wrong) && router.given.count == 5 && router.cancelled == 1)
        let (given, once, hidden) = try await Self.run(["2"], codes: codes, pin: "1")
        #expect(given == .failure(Self.wrong) && once.given == ["1"] && hidden.isEmpty)
    }

    @Test("a device that has had enough of us is not asked again, and says for how long")
    func backOff() async throws {
        var enough = Self.wrong
        enough.causes = ["TV takes no tries for 30 seconds, for there were too many wrong ones"]
        let (result, router, _) = try await Self.run(["1", "2"], codes: [.failure(enough)])
        #expect(result == .failure(enough) && router.given == ["1"])
    }

    @Test("no code: called off, exit 130", arguments: [nil, "", "  "])
    func nothing(_ answer: String?) async throws {
        let (result, router, _) = try await Self.run([answer], codes: [])
        guard case .failure(let error) = result else {
            Issue.record("it went on without a code")
            return
        }
        #expect(error.code == .cancelled && router.cancelled == 1 && router.given.isEmpty)
    }

    @Test("a password is typed blindly, and never taken from the command line")
    func password() async throws {
        let done: [Result<PairingProgress, RouterError>] = [.success(Self.progress(.done, kind: .password))]
        let (result, _, hidden) = try await Self.run(["secret"], codes: done, kind: .password)
        #expect(result == .success(0) && hidden == [true])
        let (refused, router, _) = try await Self.run([], codes: done, kind: .password, pin: "secret")
        guard case .failure(let error) = refused else {
            Issue.record("it took the password")
            return
        }
        #expect(error.code == .configuration && !error.description.contains("secret"))
        #expect(router.given.isEmpty && router.cancelled == 1)
    }

    @Test(
        "words that a shell takes as one",
        arguments: [("TV", "TV"), ("a b", "'a b'"), ("it's", #"'it'\''s'"#), ("", "''")])
    func quoting(_ text: String, _ quoted: String) { #expect(ShellWord.quoted(text) == quoted) }
}
