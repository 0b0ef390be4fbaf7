import PeerSupport
import Testing

/// Standard input and output as shells may leave them: closed, full, or without a reader.
@Suite("C21 closed and broken standard descriptors", .timeLimit(.minutes(1)))
struct StandardDescriptorTests {
    /// Runs lines of a shell, in which `$0` is the built `router`.
    private func shell(_ script: String) async throws -> Command.Outcome {
        try await Command.run("sh", ["-c", script, RouterProcess.path])
    }

    @Test("closed descriptors are /dev/null before anything else takes their numbers")
    func closed() async throws {
        let outcome = try await shell(
            #"""
            "$0" simulate --raop Kitchen --port 0 <&- >&- 2>&- &
            pid=$!
            for i in $(seq 100); do
              links=$(for n in 0 1 2; do readlink /proc/$pid/fd/$n; done | tr '\n' ' ')
              [ "$links" = "/dev/null /dev/null /dev/null " ] && break
              sleep 0.1
            done
            echo "$links"
            kill $pid
            wait $pid
            """#)
        #expect(outcome.output == "/dev/null /dev/null /dev/null \n", "\(outcome.errors)")
    }

    @Test("output that cannot be written is told and exits 74")
    func full() async throws {
        let outcome = try await shell(#""$0" completions bash >/dev/full"#)
        #expect(outcome.status == 74)
        #expect(
            outcome.errors.contains("standard output cannot be written (No space left on device)")
                && outcome.errors.contains("hint:"), "\(outcome.errors)")
    }

    @Test("what would print for ever ends where it cannot any more, and exits 74")
    func watching() async throws {
        let outcome = try await shell(
            #"""
            XDG_STATE_HOME=$(mktemp -d)
            export XDG_STATE_HOME XDG_CONFIG_HOME="$XDG_STATE_HOME" XDG_RUNTIME_DIR="$XDG_STATE_HOME"
            timeout 20 "$0" watch --device raop://127.0.0.1:9 >/dev/full; status=$?
            rm -r "$XDG_STATE_HOME"; exit $status
            """#)
        #expect(outcome.status == 74, "\(outcome.errors)")
    }

    @Test("a reader that has gone ends a list without a word, also where SIGPIPE is ignored")
    func noReader() async throws {
        let outcome = try await shell(
            #"""
            trap '' PIPE
            { sleep 0.5; "$0" completions bash; echo "status $?" >&2; } | true
            """#)
        #expect(outcome.errors == "status 141\n")
    }
}
