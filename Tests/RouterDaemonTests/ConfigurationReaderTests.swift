import CastBackend
import Foundation
import Logging
import Media
import RouteBackend
import RouteModel
import RouterAPI
import RouterStore
import Testing

@testable import RouterDaemon

@Suite("Configuration file: what it says, and every way it can be wrong")
struct ConfigurationReaderTests {
    private func read(_ text: String) throws -> RouterConfiguration {
        try ConfigurationReader(path: "c.yaml").read(text)
    }

    @Test("every key is read")
    func everyKey() throws {
        let configuration = try read(
            """
            version: 1
            name: Home
            default_room: Study
            media:
              port: 1234
              ffmpeg: /opt/ffmpeg
              ffprobe: /opt/ffprobe
            devices:
              - raop://192.168.1.20?name=Kitchen
              - uri: raop://192.168.1.21
                password: sesame
            rooms:
              - name: Kitchen
                aliases: [cooking, "the kitchen"]
                devices: [Kitchen, "cast://192.168.1.30"]
                prefer: airplay
                volume_limit: 60
                offset: -20 ms
              - name: Study
                devices: [Study]
            """)
        #expect(configuration.senderName == "Home")
        #expect(configuration.defaultRoom == "Study")
        #expect(configuration.mediaPort == 1234)
        #expect(configuration.ffmpeg == "/opt/ffmpeg")
        #expect(configuration.ffprobe == "/opt/ffprobe")
        #expect(
            configuration.devices == [
                .init(uri: "raop://192.168.1.20?name=Kitchen"),
                .init(uri: "raop://192.168.1.21", password: Secret("sesame")),
            ])
        let kitchen = try #require(configuration.rooms.first)
        #expect(
            kitchen
                == Room(
                    name: "Kitchen", aliases: ["cooking", "the kitchen"], devices: ["Kitchen", "cast://192.168.1.30"],
                    via: .airplay, volumeLimit: VolumePosition(percent: 60), offsetMilliseconds: -20, configured: true))
        #expect(configuration.rooms.last == Room(name: "Study", devices: ["Study"], configured: true))
    }

    @Test("asterisks in comments are no aliases; those behind what only looks like a comment are")
    func bullets() throws {
        let bullets = (0..<20).map { "# * Kitchen \($0)\n" }.joined()
        #expect(try read("version: 1\n\(bullets)  \(bullets)").rooms.isEmpty)
        let aliases = (0..<20).map { _ in "*a" }.joined(separator: ", ")
        for text in [
            "version: 1\nx: [\"a\n # \", \(aliases)]\n", "version: 1\nx: ['a\n # ', \(aliases)]\n",
            "version: 1\n# a\rx: [\(aliases)]\n", "version: 1\n# a\u{85}x: [\(aliases)]\n",
        ] {
            let error = #expect(throws: RouterError.self) { _ = try read(text) }
            #expect(error?.message.contains("aliases") == true, "\(text)")
        }
    }

    @Test("how the daemon is reached, and what the flags would say comes on top")
    func daemon() throws {
        let read = try read(
            """
            version: 1
            daemon:
              listen: "[::1]:8000"
              token: 0123456789abcdef
              roots: [/srv/music/, ~/Music]
              host_names: [house.local]
            """
        ).daemon
        #expect(read.listen == .at(.http(host: "::1", port: 8000)) && read.token == Secret("0123456789abcdef"))
        #expect(read.roots == ["/srv/music", NSHomeDirectory() + "/Music"] && read.hostNames == ["house.local"])
        var options = ServiceOptions(http: .http(host: "127.0.0.1", port: 1), roots: ["/mine"])
        options.apply(read)
        #expect(options.http == .http(host: "::1", port: 8000) && options.token?.revealed == "0123456789abcdef")
        #expect(options.roots == ["/mine", "/srv/music", NSHomeDirectory() + "/Music"])
        options.apply(DaemonConfiguration())
        #expect(options.http == .http(host: "::1", port: 8000) && options.token != nil)
        options.apply(try self.read("version: 1\ndaemon: {listen: none}").daemon)
        #expect(options.http == nil)
    }

    @Test(
        "a daemon that could not be reached as the file says is refused with the place",
        arguments: [
            ("listen: /run/x", "c.yaml:3:11: “/run/x” is no place to listen"),
            ("listen: 0.0.0.0:0", "c.yaml:3:11: “0.0.0.0:0” is no place"),
            ("token: short", "c.yaml:3:10: a token has at least 12"),
            ("token: with spaces in it", "c.yaml:3:10: a token has at least 12"),
            ("roots: [Music]", "c.yaml:3:11: the root “Music” is no absolute path"),
            ("host_names: [house.local:80]", "c.yaml:3:16: “house.local:80” is no host name"),
            ("port: 80", "c.yaml:3:3: daemon has no key “port”"),
        ])
    func wrongDaemon(line: String, said: String) {
        let error = #expect(throws: RouterError.self) { try read("version: 1\ndaemon:\n  \(line)") }
        #expect(error?.message.hasPrefix(said) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("spaces in it") == false)
    }

    @Test("A6 what is said of places that media comes from")
    func sources() throws {
        let read = try read(
            """
            version: 1
            sources:
              - {from: /srv/films/../home/, external_playback: false}
              - from: ~/Films
                external_playback: true
              - {from: "https://feeds.example/show?id=1", external_playback: false}
            """
        ).sources
        #expect(
            read == [
                SourceRule(from: "/srv/home", externalPlayback: false),
                SourceRule(from: NSHomeDirectory() + "/Films", externalPlayback: true),
                SourceRule(from: "https://feeds.example/show?id=1", externalPlayback: false),
            ])
        // A router that runs takes it up.
        var new = RouterConfiguration()
        new.sources = read
        #expect(new.onlyAtStart(than: RouterConfiguration()).isEmpty)
    }

    @Test(
        "A6 a source that says nothing, or that is no place, is refused with where it stands",
        arguments: [
            ("- {external_playback: false}", "c.yaml:3:5: a source needs a place"),
            ("- {from: films, external_playback: false}", "c.yaml:3:12: “films” is no absolute path"),
            ("- {from: ftp://h/x, external_playback: false}", "c.yaml:3:12: “ftp://h/x” is no absolute path"),
            ("- {from: \"http://\", external_playback: false}", "c.yaml:3:12: “http://” is no absolute path"),
            ("- {from: /films}", "c.yaml:3:5: nothing is said of the source /films"),
            ("- {from: /films, external_playback: no}", "c.yaml:3:39: external_playback must be true or false"),
            ("- {from: /films, externalplayback: false}", "c.yaml:3:20: a source has no key “externalplayback”"),
            ("- /films", "c.yaml:3:5: a source must be a list of"),
            ("from: /films", "c.yaml:3:3: sources must be a list"),
            (
                "[{from: /a, external_playback: true}, {from: /b/../a, external_playback: false}]",
                "c.yaml:3:41: two sources are “/a”"
            ),
            (
                "[" + (0...256).map { "{from: /\($0), external_playback: true}" }.joined(separator: ", ") + "]",
                "c.yaml:3:"
            ),
        ])
    func wrongSources(line: String, said: String) {
        let error = #expect(throws: RouterError.self) { try read("version: 1\nsources:\n  \(line)") }
        #expect(error?.message.hasPrefix(said) == true, "\(error?.message ?? "")")
    }

    @Test("the sample is read, with and without what stands in comments there")
    func sample() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let path = folder.deletingLastPathComponent().appending(path: "Samples/Configs/config.yaml").path
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let plain = try read(text)
        // A room that the file itself makes.
        #expect(plain.rooms.count == 2 && plain.rooms.contains { $0.name == plain.defaultRoom })
        // Comments that are lines of YAML have two blanks after the sign, or a key.
        let whole = text.split(separator: "\n").dropFirst().map { line in
            line.hasPrefix("# ") ? String(line.dropFirst(2)) : String(line)
        }.joined(separator: "\n").replacing("token: …", with: "token: 0123456789abcdef")
        let configuration = try read(whole)
        #expect(configuration.daemon.roots.count == 2 && configuration.firstRunHint == "Have fun")
        #expect(configuration.cast.identity == .pin)
    }

    @Test("R2 a room's protocol under either name, and its quiet hours")
    func quietHours() throws {
        let rooms = try read(
            """
            version: 1
            rooms:
              - { name: A, devices: [A], via: cast, quiet_hours: 22:00-07:00 at 30 % }
              - name: B
                devices: [B]
                quiet_hours: "13:00-14:00 at 0%"
            """
        ).rooms
        #expect(rooms.map(\.via) == [.cast, .auto])
        #expect(rooms.map { $0.quietHours?.description } == ["22:00-07:00 at 30 %", "13:00-14:00 at 0 %"])
    }

    @Test("R5 how loud a room begins, whatever YAML takes it for")
    func startVolume() throws {
        let forms = ["preserve", "last", "40", "40 %", "\"40%\"", "at most 40 %", "'at most 40'", "040"]
        let text = forms.enumerated().map { "  - { name: R\($0), devices: [A], start_volume: \($1) }" }
        let rooms = try read("version: 1\nrooms:\n" + text.joined(separator: "\n")).rooms
        #expect(
            rooms.map { $0.startVolume?.description } == [
                "preserve", "last", "40 %", "40 %", "40 %", "at most 40 %", "at most 40 %", "40 %",
            ])
        #expect(try read("version: 1\nrooms: [{ name: A, devices: [A] }]").rooms[0].startVolume == nil)
        let curved = "version: 1\nrooms: [{ name: A, devices: [A], volume_curve: decibel 50 taper 2 }]"
        #expect(try read(curved).rooms[0].volumeCurve == .decibel(range: 50, taper: 2))
    }

    @Test(
        "R5 a start volume that is none is refused with its place and what was meant",
        arguments: [
            ("start_volume: lsat", "c.yaml:5:19: “lsat” is no form", "Did you mean “last”?"),
            ("start_volume: 140 %", "c.yaml:5:19: the start volume “140 %” is no level", "0 to 100"),
            ("start_volume: 1:40", "c.yaml:5:19: the start volume “1:40”", "0 to 100"),
            ("start_volume: 0x28", "c.yaml:5:19: the start volume", "0 to 100"),
            ("start_volume: off", "c.yaml:5:19: “off” is no form", "Write preserve"),
            ("start_volume: ~", "c.yaml:5:19: “~” is no form", "Write preserve"),
            ("start_volume: [40]", "c.yaml:5:19: start_volume must be text", "quotes"),
            ("start_volume: { cap: 40 }", "c.yaml:5:19: start_volume must be text", "quotes"),
            ("volume_curve: decible 50", "c.yaml:5:19: “decible 50” is no form", "Did you mean “decibel”?"),
            ("volume_curve: table 0 50 50", "c.yaml:5:19: the volume curve “table 0 50 50” is out of", "each higher"),
            ("volume_curve: [0, 50, 100]", "c.yaml:5:19: volume_curve must be text", "quotes"),
            ("start_volum: 40", "c.yaml:5:5: a room has no key “start_volum”", "Did you mean “start_volume”?"),
        ])
    func wrongStartVolume(line: String, said: String, hint: String) {
        let text = "version: 1\nrooms:\n  - name: A\n    devices: [A]\n    \(line)"
        let error = #expect(throws: RouterError.self) { try read(text) }
        #expect(error?.message.hasPrefix(said) == true, "\(error?.message ?? "")")
        #expect(error?.hint?.contains(hint) == true, "\(error?.hint ?? "")")
    }

    @Test("C21 how Cast devices are checked, and the first-run hint") func cast() throws {
        let configuration = try ConfigurationReader(path: "/etc/router/c.yaml").read(
            """
            version: 1
            hint: Have fun
            cast:
              roots: [/a/root.pem, own.pem]
              crl: list.bin
              crl_roots: [crl.pem]
              identity: require
            """)
        #expect(configuration.firstRunHint == "Have fun")
        #expect(configuration.cast.roots == ["/a/root.pem", "/etc/router/own.pem"])
        #expect(configuration.cast.crl == "/etc/router/list.bin")
        #expect(configuration.cast.crlRoots == ["/etc/router/crl.pem"])
        #expect(configuration.cast.identity == .require)
        #expect(try read("version: 1\nhint: \"\"").firstRunHint == "")
        #expect(try read("version: 1\ncast: {identity: off}").cast.identity == .off)
    }

    @Test(
        "C21 what is wrong with it is told with its line",
        arguments: [
            ("cast: 1", "2:7"), ("cast: {root: a}", "no key “root”"), ("cast: {identity: maybe}", "maybe"),
            ("cast: {identity: require}", "needs roots"), ("cast: {crl: a}", "crl needs a root"),
            ("cast: {roots: a}", "must be a list"), ("cast: {roots: ['']}", "a root must be text"),
            ("hint: [a]", "hint"),
        ])
    func wrongCast(text: String, words: String) {
        let error = #expect(throws: RouterError.self) { try read("version: 1\n\(text)") }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("c.yaml:2:") == true)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        #expect(error?.hint?.isEmpty == false)
    }

    @Test("C21 files of the configuration that are of no use are named") func castFiles() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "router-cast-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let none = folder.appending(path: "none.pem").path
        let junk = folder.appending(path: "junk.pem")
        try Data("junk".utf8).write(to: junk)
        // Nobody writes to it: whoever waited would wait for ever.
        let pipe = folder.appending(path: "pipe").path
        #expect(mkfifo(pipe, 0o600) == 0)
        let pins = StoredCastPins(store: try RouterStore.inMemory())
        for (path, words) in [
            (none, "cannot be read"), (junk.path, "holds no certificate"), ("/dev/zero", "or no file"),
            (pipe, "or no file"),
        ] {
            var cast = CastConfiguration()
            cast.roots = [path]
            let error = #expect(throws: RouterError.self) { try cast.policy(pins: pins) }
            #expect(error?.code == .configuration)
            #expect(error?.message.contains(path) == true && error?.message.contains(words) == true)
        }
        var list = CastConfiguration()
        list.crl = junk.path
        #expect(throws: RouterError.self) { try list.policy(pins: pins) }
        var strict = CastConfiguration()
        strict.identity = .require
        #expect(throws: RouterError.self) { try strict.policy(pins: pins) }
        #expect(try CastConfiguration().policy(pins: pins).mode == .pin)
    }

    @Test("C20 the hint is given once, for the first device, in the person's words") func firstRunHint() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "router-hint-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var setup = RouterSetup(storePath: folder.path + "/router.sqlite", logger: Logger(label: "test"))
        let route = Route(id: .random(), name: "Kitchen", endpoints: [])
        #expect(await FirstRunHint.take(setup, found: []) == nil)
        setup.configuration.firstRunHint = ""
        #expect(await FirstRunHint.take(setup, found: [route]) == nil)
        setup.configuration.firstRunHint = "Have fun"
        #expect(await FirstRunHint.take(setup, found: [route])?.message == "Have fun")
        setup.configuration.firstRunHint = nil
        #expect(await FirstRunHint.take(setup, found: [route]) == nil)
        setup.storePath = folder.path + "/other.sqlite"
        #expect(await FirstRunHint.take(setup, found: [route])?.message == "“Kitchen” can be played to")
        setup.storePath = nil
        #expect(await FirstRunHint.take(setup, found: [route]) == nil)
    }

    @Test("only the version is needed", arguments: ["version: 1", "version: 1\n", "---\nversion: 1\n...\n"])
    func onlyVersion(_ text: String) throws {
        #expect(try read(text) == RouterConfiguration())
    }

    @Test(
        "an empty file, or one of comments, is an empty configuration", arguments: ["", "\n\n", "# later\n", "---\n"])
    func empty(_ text: String) throws {
        #expect(try read(text) == RouterConfiguration())
    }

    @Test("text stays text: the words that old YAML took for booleans and numbers are names")
    func plainScalars() throws {
        let rooms = try read(
            """
            version: 1
            name: yes
            rooms:
              - {name: no, devices: [on, 1:30, 0x10, ~x, 1.0]}
            """)
        #expect(rooms.senderName == "yes")
        #expect(rooms.rooms[0].name == "no")
        #expect(rooms.rooms[0].devices == ["on", "1:30", "0x10", "~x", "1.0"])
    }

    @Test("anchors work within reason")
    func anchors() throws {
        let configuration = try read(
            """
            version: 1
            devices:
              - {uri: "raop://10.0.0.1", password: &p sesame}
              - {uri: "raop://10.0.0.2", password: *p}
            """)
        #expect(configuration.devices.map(\.password) == [Secret("sesame"), Secret("sesame")])
    }

    /// What is wrong: the text, where it is said to be, and words that the message or the hint must hold.
    struct Wrong: Sendable, CustomTestStringConvertible {
        var text: String
        var place: String
        var says: [String]
        var testDescription: String { "\(place) \(says.joined(separator: ", "))" }

        init(_ text: String, _ place: String, _ says: String...) {
            self.text = text
            self.place = place
            self.says = says
        }
    }

    static let wrong = [
        Wrong("name: Home", ":1:1", "no version", "version: 1"),
        Wrong("version: 2", ":1:10", "version 1", "Write “version: 1”"),
        Wrong("version: [1]", ":1:10", "version 1"),
        Wrong("- version: 1", ":1:1", "the configuration must be a list of “key: value” lines"),
        Wrong("hello", ":1:1", "the configuration must be"),
        Wrong("version: 1\nroms: []", ":2:1", "no key “roms”", "Did you mean “rooms”?"),
        Wrong("version: 1\nzzzzzz: []", ":2:1", "no key “zzzzzz”", "Known keys are version, name"),
        Wrong("version: 1\n[a]: 1", ":2:1", "no key “”"),
        Wrong("version: 1\nname: [a]", ":2:7", "name must be text"),
        Wrong("version: 1\nname: ''", ":2:7", "name must be text"),
        Wrong("version: 1\nname:\n", ":2", "name must be text"),
        Wrong("version: 1\nmedia: 7766", ":2:8", "media must be", "Indent its keys"),
        Wrong("version: 1\nmedia:\n  port: high", ":3:9", "port must be a whole number from 0 to 65535"),
        Wrong("version: 1\nmedia:\n  port: 65536", ":3:9", "from 0 to 65535"),
        Wrong("version: 1\nmedia:\n  port: -1", ":3:9", "from 0 to 65535"),
        Wrong("version: 1\nmedia:\n  ports: 1", ":3:3", "Did you mean “port”?"),
        Wrong("version: 1\nmedia:\n  ffmpeg: {}", ":3:11", "ffmpeg must be text"),
        Wrong("version: 1\ndevices: raop://10.0.0.1", ":2:10", "devices must be a list", "Begin each entry with “- ”"),
        Wrong("version: 1\ndevices:\n  - [a]", ":3:5", "a device must be"),
        Wrong("version: 1\ndevices:\n  - password: x", ":3:5", "a device needs a uri"),
        Wrong("version: 1\ndevices:\n  - Kitchen", ":3:5", "“Kitchen”", "raop://"),
        Wrong("version: 1\ndevices:\n  - uri: raop://10.0.0.1:99999", ":3:10", "port"),
        Wrong("version: 1\ndevices:\n  - uri: raop://x\n    password: [a]", ":4:15", "password must be text"),
        Wrong("version: 1\nrooms:\n  Kitchen: [a]", ":3:3", "rooms must be a list"),
        Wrong("version: 1\nrooms:\n  - devices: [a]", ":3:5", "a room needs a name"),
        Wrong("version: 1\nrooms:\n  - name: A", ":3:5", "the room A has no devices"),
        Wrong("version: 1\nrooms:\n  - {name: A, devices: b}", ":3:24", "devices must be a list"),
        Wrong("version: 1\nrooms:\n  - {name: A, devices: [b], alias: c}", ":3:29", "Did you mean “aliases”?"),
        Wrong("version: 1\nrooms:\n  - {name: A, devices: [b], prefer: dlna}", ":3:37", "“dlna” is no protocol"),
        Wrong("version: 1\nrooms:\n  - {name: A, devices: [b], volume_limit: 101}", ":3:43", "from 0 to 100"),
        Wrong("version: 1\nrooms:\n  - {name: A, devices: [b], volume_limit: yes}", ":3:43", "whole number"),
        Wrong("version: 1\nrooms:\n  - {name: A, devices: [b], offset: 20}", ":3:37", "-5000ms to 5000ms", "unit"),
        Wrong("version: 1\nrooms:\n  - {name: A, devices: [b], offset: 6000ms}", ":3:37", "-5000ms to 5000ms"),
        Wrong("version: 1\nrooms:\n  - {name: A, devices: [b], offset: 2s}", ":3:37", "-5000ms to 5000ms"),
        Wrong("version: 1\nrooms:\n  - {name: A, devices: [b]}\n  - {name: a, devices: [c]}", ":4:5", "“a”"),
        Wrong(
            "version: 1\nrooms:\n  - {name: A, devices: [b]}\n  - {name: B, aliases: [A], devices: [c]}", ":4:5", "“A”"),
        Wrong("version: 1\nname: A\nname: B", ":2:1", "“name” stands twice", "Keep one"),
        Wrong("version: 1\nmedia:\n\tport: 1", ":3:1", "not valid YAML", "no tabs"),
        Wrong("version: 1\nname: \"Home", ":2", "not valid YAML", "quotes"),
        Wrong("version: 1\nname: a: b", ":2:8", "not valid YAML"),
        Wrong("version: 1\nname: *nobody", ":2:7", "not valid YAML"),
        Wrong("version: 1\n---\nversion: 1", ":2:1", "not valid YAML"),
        Wrong("version: 1\nname: \"a\u{0}b\"", "", "not valid YAML"),
    ]

    @Test("each mistake is told with its line and column, and what to do", arguments: wrong)
    func mistakes(_ wrong: Wrong) throws {
        let error = try #require(throws: RouterError.self) { try read(wrong.text) }
        #expect(error.code == .configuration)
        #expect(error.message.hasPrefix("c.yaml\(wrong.place)"), "\(error.message)")
        let hint = try #require(error.hint)
        #expect(!hint.isEmpty)
        for words in wrong.says {
            #expect(error.message.contains(words) || hint.contains(words), "\(error.message) | \(hint)")
        }
    }

    @Test("aliases that stand for lists of aliases are refused before they grow", arguments: [false, true])
    func aliasBomb(_ asKey: Bool) throws {
        var text = "version: 1\na0: &a0 [x, x]\n"
        for level in 1...40 { text += "a\(level): &a\(level) [*a\(level - 1), *a\(level - 1)]\n" }
        text += asKey ? "? *a40\n: 1\n" : "rooms: *a40\n"
        let error = try #require(throws: RouterError.self) { try read(text) }
        #expect(error.message.contains("aliases"))
    }

    @Test("the most that the allowed aliases can stand for is read in a moment, even as a key")
    func largestExpansion() throws {
        var text = "version: 1\na0: &a0 [x, x, x]\n"
        for level in 1...5 { text += "a\(level): &a\(level) [*a\(level - 1), *a\(level - 1), *a\(level - 1)]\n" }
        text += "? *a5\n: 1\n"
        let error = try #require(throws: RouterError.self) { try read(text) }
        #expect(error.message.contains("has no key “a0”"), "\(error.message)")
    }

    @Test("deep nesting is an error, not a crash", arguments: ["[", "{a: ", "- "])
    func deepNesting(_ opening: String) throws {
        let text = "version: 1\nrooms:\n  " + String(repeating: opening, count: 20_000)
        let error = try #require(throws: RouterError.self) { try read(text) }
        #expect(error.code == .configuration)
    }

    @Test("no message ever repeats a password")
    func passwordsStaySecret() throws {
        for text in [
            "version: 1\ndevices:\n  - {uri: \"raop://10.0.0.1\", password: sesame, pasword: sesame}",
            "version: 1\ndevices:\n  - {uri: \"raop://10.0.0.1\", password: sesame, password: sesame}",
            "version: 1\ndevices:\n  - {password: sesame}",
            "version: 1\ndevices:\n  - raop://me:sesame@10.0.0.1",
            "version: 1\ndevices:\n  - raop://10.0.0.1?password=sesame",
            "version: 1\ndevices:\n  - uri: raop://10.0.0.1\n    password: \"sesame",
        ] {
            let error = try #require(throws: RouterError.self) { try read(text) }
            #expect(!"\(error) \(error.causes)".contains("sesame"), "\(error)")
        }
        let configuration = try read("version: 1\ndevices:\n  - {uri: \"raop://10.0.0.1\", password: sesame}")
        #expect(!"\(configuration)".contains("sesame"))
        var dumped = ""
        dump(configuration, to: &dumped)
        #expect(!dumped.contains("sesame"))
    }
}
