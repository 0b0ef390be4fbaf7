import Foundation
import RouteModel
import Testing

@testable import SceneScript

@Suite struct RegularFileTests {
    private func inFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "regular-\(UInt64.random(in: 0...UInt64.max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.path)
    }

    @Test("R4 a file is read, up to a limit") func reads() throws {
        try inFolder { folder in
            let path = folder + "/a"
            try Data("hello".utf8).write(to: URL(fileURLWithPath: path))
            #expect(try RegularFile.read(path, limit: 5) == Data("hello".utf8))
            #expect(throws: RegularFile.Failure.tooLarge) { try RegularFile.read(path, limit: 4) }
            try Data().write(to: URL(fileURLWithPath: path))
            #expect(try RegularFile.read(path, limit: 0).isEmpty)
            #expect(throws: RegularFile.Failure.missing) { try RegularFile.read(folder + "/b", limit: 4) }
            #expect(throws: RegularFile.Failure.missing) { try RegularFile.read(path + "/b", limit: 4) }
        }
    }

    @Test("R4 a named pipe that nobody writes to, a folder and a device are no files") func others() throws {
        try inFolder { folder in
            try #require(mkfifo(folder + "/pipe", 0o600) == 0)
            for path in [folder + "/pipe", folder, "/dev/zero"] {
                #expect(throws: RegularFile.Failure.notAFile, "\(path)") { try RegularFile.read(path, limit: 4) }
            }
        }
    }

    @Test("R4 a scene in a named pipe is an error that says so, and not waited for") func scenes() throws {
        try inFolder { folder in
            let path = folder + "/scene.yaml"
            try #require(mkfifo(path, 0o600) == 0)
            let error = #expect(throws: RouterError.self) { try SceneFiles.readText(path) }
            #expect(error?.code == .sceneInvalid && error?.message.contains("is no file") == true)
            let missing = #expect(throws: RouterError.self) { try SceneFiles.readText(folder + "/none.yaml") }
            #expect(missing?.code == .mediaNotFound)
        }
    }
}
