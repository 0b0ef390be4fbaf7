import Foundation
import PeerSupport
import RouterTestKit
import Testing

/// `router play` to Debian's shairport-sync 3.3.8, judged by what it wrote.
///
/// It plays silence in place of the first nine packets of each stream, whoever sends; with our lead-in of silence that
/// costs no sound.
@Suite("A1 A9 router play to shairport-sync", .enabled(if: ShairportSync.missing == nil), .serialized)
struct ShairportAcceptanceTests {
    @Test(
        "plays every format to its end, with title, artist, album and picture",
        arguments: ["flac", "mp3", "m4a", "ogg", "opus"])
    func formats(_ format: String) async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.\(format)")
        let receiver = try await ShairportSync()
        defer { receiver.stop() }
        let result = try await RouterProcess.run(["play", file.path, "--device", "raop://127.0.0.1:\(receiver.port)"])
        #expect(result.status == 0, "\(result.errors)")
        let source = try await sound.samples(file)
        #expect(await eventually { receiver.samples.count >= source.count })
        if format == "flac" {
            let match = Recording.match(receiver.samples, source)
            #expect(match.share >= 0.99, "\(match)")
            #expect(match.last >= match.frames - 3, "\(match)")
        } else {
            let heard = Recording.seconds(of: TwoTones.tones, in: receiver.samples)
            for tone in TwoTones.tones { #expect(abs((heard[tone] ?? 0) - 6) < 0.3, "\(heard)") }
        }
        #expect(receiver.metadata["core minm"]?.last == Data("Zwei Töne".utf8))
        #expect(receiver.metadata["core asar"]?.last == Data("The Oscillators".utf8))
        #expect(receiver.metadata["core asal"]?.last == Data("Tones and Tones".utf8))
        if ["flac", "mp3", "m4a"].contains(format) {
            let picture = receiver.metadata["ssnc PICT"]?.last { !$0.isEmpty }
            #expect(picture?.starts(with: [0xFF, 0xD8]) == true)
        }
    }

    @Test("by RSA: the announcement carries the key, and the samples are the same")
    func rsa() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac")
        let receiver = try await ShairportSync()
        defer { receiver.stop() }
        let result = try await RouterProcess.run([
            "play", file.path, "--device", "raop://127.0.0.1:\(receiver.port)?et=1",
        ])
        #expect(result.status == 0, "\(result.errors)")
        // It names its decoder by what the ANNOUNCE carried.
        #expect(receiver.log.contains("on encrypted audio"), "\(receiver.log.suffix(2000))")
        let source = try await sound.samples(file)
        #expect(await eventually { receiver.samples.count >= source.count })
        let match = Recording.match(receiver.samples, source)
        #expect(match.share >= 0.99, "\(match)")
    }

    @Test("with a password; none and a wrong one are refused in words, exit 4")
    func password() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 4)
        let receiver = try await ShairportSync(general: "password = \"sesame\";")
        defer { receiver.stop() }
        let device = ["--device", "raop://127.0.0.1:\(receiver.port)"]
        let none = try await RouterProcess.run(["play", file.path] + device)
        #expect(none.status == 4, "\(none.errors)")
        #expect(none.errors.contains("ROUTER_PASSWORD"), "\(none.errors)")
        let wrong = try await RouterProcess.run(
            ["play", file.path, "-vv"] + device, environment: ["ROUTER_PASSWORD": "mellon"])
        #expect(wrong.status == 4, "\(wrong.errors)")
        #expect(wrong.errors.contains("password"), "\(wrong.errors)")
        #expect(!wrong.errors.contains("mellon"), "a password was logged")
        let right = try await RouterProcess.run(
            ["play", file.path] + device, environment: ["ROUTER_PASSWORD": "sesame"])
        #expect(right.status == 0, "\(right.errors)")
        let source = try await sound.samples(file)
        #expect(await eventually { receiver.samples.count >= source.count })
        #expect(Recording.match(receiver.samples, source).share >= 0.97)
    }

    @Test("two files cut from one at an arbitrary sample join without a frame more or less")
    func gapless() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let whole = try await sound.file("whole.flac", seconds: 8)
        let cut = 131_071
        let parts = try await sound.cut(whole, at: cut)
        let receiver = try await ShairportSync()
        defer { receiver.stop() }
        let result = try await RouterProcess.run([
            "play", parts.0.path, parts.1.path, "--device", "raop://127.0.0.1:\(receiver.port)",
        ])
        #expect(result.status == 0, "\(result.errors)")
        let source = try await sound.samples(whole)
        #expect(await eventually { receiver.samples.count >= source.count })
        // Laid on the source from its end: one frame more or less at the join, and nothing before it would match.
        let match = Recording.match(receiver.samples, source)
        #expect(match.first < cut - 44_100, "\(match)")
        #expect(match.share >= 0.98, "\(match)")
    }

    @Test("R2 found by mDNS and played by the beginning of its name", .enabled(if: Lab.isInside, Lab.reason))
    func byName() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 6)
        let receiver = try await ShairportSync()
        defer { receiver.stop() }
        // Avahi probes for most of a second before it announces a name.
        #expect(
            await eventually {
                (try? await RouterProcess.run(["devices", "-o", "json"]))?.output.contains("Router test") == true
            })
        let result = try await RouterProcess.run(["play", file.path, "--room", "router test"])
        #expect(result.status == 0, "\(result.errors)")
        let source = try await sound.samples(file)
        #expect(await eventually { receiver.samples.count >= source.count })
        let match = Recording.match(receiver.samples, source)
        #expect(match.share >= 0.98, "\(match)")
        let devices = try await RouterProcess.run(["devices", "-o", "json"])
        #expect(devices.output.contains("Router test \(receiver.port)"))
    }

    @Test(
        "packets dropped at the receiver are sent again", .enabled(if: Lab.isInside, Lab.reason),
        arguments: [3, 10])
    func loss(percent: Int) async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac")
        let receiver = try await ShairportSync()
        defer { receiver.stop() }
        let ports = "\(receiver.port + 10)-\(receiver.port + 110)"
        for rule in [
            "add table inet loss", "add chain inet loss in { type filter hook input priority 0; }",
            "add rule inet loss in udp dport \(ports) udp length 250-2000 numgen random mod 100 < \(percent) counter drop",
        ] {
            let made = try await Command.run("nft", [rule])
            try #require(made.status == 0, "\(made.errors)")
        }
        let result = try await RouterProcess.run([
            "play", file.path, "-o", "json", "--device", "raop://127.0.0.1:\(receiver.port)",
        ])
        let rules = try await Command.run("nft", ["list table inet loss"])
        _ = try await Command.run("nft", ["delete table inet loss"])
        #expect(result.status == 0, "\(result.errors)")
        let dropped = rules.output.firstMatch(of: /counter packets (\d+)/).flatMap { Int($0.1) } ?? 0
        let resent = result.output.firstMatch(of: /"packetsResent" : (\d+)/).flatMap { Int($0.1) } ?? 0
        #expect(dropped > 0 && resent > 0, "dropped \(dropped), sent again \(resent)")
        let source = try await sound.samples(file)
        #expect(await eventually { receiver.samples.count >= source.count })
        let match = Recording.match(receiver.samples, source)
        print("\(percent) % lost, shairport-sync: \(dropped) packets dropped, \(resent) sent again: \(match)")
        #expect(match.share >= 0.99, "\(match), dropped \(dropped), sent again \(resent)")
    }
}
