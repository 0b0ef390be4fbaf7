import Foundation
import Testing

@testable import MPRISBridge

struct ArtFolderTests {
    private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    private func inFolder(_ body: (String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "art-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }

    private func mode(_ path: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int) ?? 0
    }

    private func files(_ path: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    @Test("C18 a picture is a file by its content, in a folder that is ours alone")
    func keeps() throws {
        try inFolder { path in
            var folder = try ArtFolder(path + "/deep")
            let addresses = [1, 1, 2].map { folder.keep(Self.png + [$0]) ?? "" }
            let (first, again, other) = (addresses[0], addresses[1], addresses[2])
            #expect(first == again && first != other)
            #expect(first.hasPrefix("file:///") && first.hasSuffix(".png"))
            #expect(mode(path + "/deep") == 0o700)
            for file in files(path + "/deep") { #expect(mode("\(path)/deep/\(file)") == 0o600) }
            let bytes = try Data(contentsOf: try #require(URL(string: first)))
            #expect([UInt8](bytes) == Self.png + [1])
            folder.clear()
            #expect(files(path + "/deep").isEmpty)
        }
    }

    @Test("C18 what is no picture, or too large, is not kept")
    func refuses() throws {
        try inFolder { path in
            var folder = try ArtFolder(path)
            #expect(folder.keep([]) == nil)
            #expect(folder.keep([UInt8]("<svg/>".utf8)) == nil)
            #expect(folder.keep(Self.png + [UInt8](repeating: 0, count: ArtFolder.maximumBytes)) == nil)
            #expect(files(path).isEmpty)
        }
    }

    @Test("C18 the oldest pictures go, and what an earlier run left; nothing else")
    func prunes() throws {
        try inFolder { path in
            var folder = try ArtFolder(path)
            try Data("mine".utf8).write(to: URL(filePath: "\(path)/notes.txt"))
            for number in 0...ArtFolder.maximumFiles {
                _ = folder.keep(Self.png + [UInt8(number)])
            }
            #expect(files(path).count == ArtFolder.maximumFiles + 1)
            _ = try ArtFolder(path)
            #expect(files(path) == ["notes.txt"])
        }
    }

    @Test("C18 a picture that is on show stays, however old")
    func shown() throws {
        try inFolder { path in
            var folder = try ArtFolder(path)
            let kept = folder.keep(Self.png + [0, 0])
            let first = try #require(kept)
            for number in 0...ArtFolder.maximumFiles { _ = folder.keep(Self.png + [UInt8(number)], shown: [first]) }
            #expect(files(path).count == ArtFolder.maximumFiles)
            let place = try #require(URL(string: first))
            #expect(FileManager.default.fileExists(atPath: place.path))
        }
    }

    @Test("C18 a link in the folder's place is not followed")
    func link() throws {
        try inFolder { path in
            let manager = FileManager.default
            try manager.createDirectory(atPath: path + "/elsewhere", withIntermediateDirectories: true)
            try manager.createSymbolicLink(atPath: path + "/art", withDestinationPath: path + "/elsewhere")
            #expect(throws: (any Error).self) { _ = try ArtFolder(path + "/art") }
        }
    }

    @Test(
        "C18 the name is FNV-1a of 128 bits",
        arguments: [
            ("", "6c62272e07bb014262b821756295c58d"), ("a", "d228cb696f1a8caf78912b704e4a8964"),
        ])
    func hash(_ text: String, _ hash: String) {
        #expect(ArtFolder.hash([UInt8](text.utf8)) == hash)
    }
}
