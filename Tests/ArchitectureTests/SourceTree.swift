import Foundation

/// One file of the package, by its path from the package's root.
struct SourceFile {
    var path: String
    var text: String

    /// The target it belongs to: the folder under `Sources`.
    var module: String? {
        let parts = path.split(separator: "/")
        return parts.count > 2 && parts[0] == "Sources" ? String(parts[1]) : nil
    }

    var isSwift: Bool { path.hasSuffix(".swift") }
}

/// The package as it lies on disk.
enum SourceTree {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    /// Files with one of these endings in these folders.
    static func files(in folders: [String], endings: [String]) throws -> [SourceFile] {
        try paths(in: folders).files.filter { path in endings.contains { path.hasSuffix($0) } }.map { path in
            SourceFile(path: path, text: try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8))
        }
    }

    static func folders(in folders: [String]) -> [String] { paths(in: folders).folders }

    private static func paths(in folders: [String]) -> (files: [String], folders: [String]) {
        var files: [String] = []
        var found: [String] = []
        for folder in folders {
            guard let walker = FileManager.default.enumerator(atPath: "\(root)/\(folder)") else { continue }
            for case let path as String in walker {
                // A package of its own (benchmarks, samples) has its own build folder.
                if path.split(separator: "/").contains(".build") { continue }
                var isFolder: ObjCBool = false
                _ = FileManager.default.fileExists(atPath: "\(root)/\(folder)/\(path)", isDirectory: &isFolder)
                if isFolder.boolValue { found.append("\(folder)/\(path)") } else { files.append("\(folder)/\(path)") }
            }
        }
        return (files.sorted(), found.sorted())
    }
}
