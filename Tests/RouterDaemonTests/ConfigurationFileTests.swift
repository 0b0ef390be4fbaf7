import Foundation
import RouteModel
import Testing

@testable import RouterDaemon

@Suite("Configuration file: where it is, and what it is")
struct ConfigurationFileTests {
    private final class Folder {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("router-config-\(UUID().uuidString)")
        init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(at: url) }

        func file(_ data: Data, mode: Int = 0o600) throws -> String {
            let path = url.appendingPathComponent("config.yaml").path
            try data.write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            return path
        }
    }

    @Test("it is looked for where XDG says; a relative XDG_CONFIG_HOME is passed over")
    func defaultPath() {
        let path = RouterConfiguration.defaultPath
        #expect(path(["XDG_CONFIG_HOME": "/x", "HOME": "/h"]) == "/x/router/config.yaml")
        #expect(path(["XDG_CONFIG_HOME": "x", "HOME": "/h"]) == "/h/.config/router/config.yaml")
        #expect(path(["HOME": "/h"]) == "/h/.config/router/config.yaml")
    }

    @Test("one that is missing is empty, unless it was named")
    func missing() throws {
        let path = "/nonexistent/config.yaml"
        #expect(try RouterConfiguration.load(path: path, mustExist: false) == RouterConfiguration())
        let error = try #require(throws: RouterError.self) {
            try RouterConfiguration.load(path: path, mustExist: true)
        }
        #expect(error.code == .configuration && error.message.contains(path) && error.hint != nil)
    }

    @Test("not UTF-8, too large, endless and a folder are told in words")
    func unreadable() throws {
        let folder = try Folder()
        let latin = try folder.file(Data("version: 1\nname: K".utf8) + [0xFC] + Data("che".utf8))
        #expect(try message(latin).contains("not UTF-8"))
        let large = try folder.file(Data(repeating: UInt8(ascii: "#"), count: RouterConfiguration.maximumBytes + 1))
        #expect(try message(large).contains("larger than"))
        for path in ["/dev/zero", folder.url.path] { #expect(try message(path).contains("is no file")) }
        // Nobody writes to it: whoever waited would wait for ever.
        let pipe = folder.url.appendingPathComponent("pipe").path
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(try message(pipe).contains("is no file"))
        let most = try folder.file(Data(repeating: UInt8(ascii: "\n"), count: RouterConfiguration.maximumBytes))
        #expect(try RouterConfiguration.load(path: most, mustExist: true) == RouterConfiguration())
    }

    private func message(_ path: String) throws -> String {
        let error = try #require(throws: RouterError.self) {
            try RouterConfiguration.load(path: path, mustExist: true)
        }
        #expect(error.code == .configuration && error.hint != nil)
        return error.message
    }

    @Test("a password that others can read is worth a warning; without a password the mode is nobody's business")
    func mode() throws {
        let folder = try Folder()
        let secret = Data("version: 1\ndevices:\n  - {uri: \"raop://10.0.0.1\", password: sesame}\n".utf8)
        for (mode, warns) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true), (0o644, true)] {
            let path = try folder.file(secret, mode: mode)
            let notices = try RouterConfiguration.load(path: path, mustExist: true).notices
            #expect(notices.isEmpty == !warns, "mode \(String(mode, radix: 8))")
            for notice in notices {
                #expect(notice.severity == .warning && notice.hint == "Run: chmod 600 \(path)")
                #expect(!notice.message.contains("sesame"))
            }
        }
        let open = try folder.file(Data("version: 1\ndevices: [raop://10.0.0.1]\n".utf8), mode: 0o644)
        #expect(try RouterConfiguration.load(path: open, mustExist: true).notices.isEmpty)
    }

    @Test("the sample is right, and shows every key")
    func sample() throws {
        let url = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Samples/Configs/config.yaml")
        let text = try String(contentsOf: url, encoding: .utf8)
        let configuration = try ConfigurationReader(path: "config.yaml").read(text)
        #expect(configuration.devices.count == 3 && configuration.rooms.count == 2)
        #expect(configuration.defaultRoom == "Kitchen")
        for key in [
            "name", "default_room", "port", "ffmpeg", "ffprobe", "uri", "password", "aliases", "prefer", "volume_limit",
            "offset",
        ] {
            #expect(text.contains("\(key):"), "the sample does not show “\(key)”")
        }
    }
}
