/// The rules as functions from files to findings; an empty answer is a pass.
enum Rules {
    static let lineLimit = 600

    /// Folders named after time, status or nothing.
    static let forbiddenFolders: Set<String> = [
        "new", "old", "legacy", "deprecated", "misc", "util", "utils", "utilities", "helpers", "temp", "tmp", "stuff",
    ]

    static func imports(_ files: [SourceFile]) -> [String] {
        files.flatMap { file -> [String] in
            guard let module = file.module, file.isSwift else { return [] }
            guard let allowed = ModuleTable.allowed(in: module) else {
                return ["\(file.path): module \(module) has no row in the table"]
            }
            return SwiftCode(file.text).imports.filter { !allowed.contains($0.module) }.map {
                "\(file.path):\($0.line): \(module) may not import \($0.module)"
            }
        }
    }

    static func dependencies(_ manifest: Manifest) -> [String] {
        manifest.sources.flatMap { row -> [String] in
            guard let allowed = ModuleTable.allowed(in: row.name) else {
                return ["Package.swift: target \(row.name) has no row in the table"]
            }
            return row.dependencies.filter { !allowed.contains($0) }.map {
                "Package.swift: \(row.name) may not depend on \($0)"
            }
        }
    }

    /// The engine never knows the wire, not even by way of somebody else.
    static func engineGraph(_ manifest: Manifest) -> [String] {
        manifest.closure(of: "RouterCore").filter { $0.hasPrefix("NIO") || ["CastV2", "AirPlay"].contains($0) }
            .sorted().map { "Package.swift: RouterCore's graph holds \($0)" }
    }

    static func lengths(_ files: [SourceFile]) -> [String] {
        files.filter { file in !Allowances.long.contains { matches(file.path, $0.path) } }.compactMap { file in
            let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false).count - 1
            return lines > lineLimit ? "\(file.path): \(lines) lines, \(lineLimit) are the limit" : nil
        }
    }

    static func folderNames(_ folders: [String]) -> [String] {
        folders.compactMap { path in
            guard let name = path.split(separator: "/").last else { return nil }
            if name.contains(" ") { return "\(path): a space in a folder's name" }
            return forbiddenFolders.contains(name.lowercased())
                ? "\(path): a folder's name must say what it holds" : nil
        }
    }

    static func topLevel(_ names: [String]) -> [String] {
        let allowed: Set = [
            "Package.swift", "Package.resolved", "Sources", "Tests", "Protocols", "Samples", "README.md",
        ]
        return names.filter { !$0.hasPrefix(".") && !allowed.contains($0) }.sorted().map {
            "\($0): not at the top level"
        }
    }

    static func unstructuredTasks(_ files: [SourceFile], allowances: [Allowances.Tasks]) -> [String] {
        let pattern = #/\bTask(?:<[^>{]*>)?(?:\.detached|\.immediate|\.immediateDetached)?\s*(?:\([^{}]*\))?\s*\{/#
        var findings: [String] = []
        for file in files where file.isSwift && file.module != nil {
            let lines = SwiftCode(file.text).occurrences(of: pattern)
            let allowed = allowances.first { $0.path == file.path }?.count ?? 0
            if lines.count != allowed {
                findings.append(
                    "\(file.path): \(lines.count) unstructured tasks (lines \(lines)), Allowances.tasks says \(allowed)"
                )
            }
        }
        for allowance in allowances where !files.contains(where: { $0.path == allowance.path }) {
            findings.append("\(allowance.path): in Allowances.tasks, but there is no such file")
        }
        return findings
    }

    static func locks(_ files: [SourceFile]) -> [String] {
        let pattern =
            #/\b(?:Mutex|NSLock|NSRecursiveLock|NSCondition|NIOLock|NIOLockedValueBox|DispatchSemaphore|OSAllocatedUnfairLock|os_unfair_lock\w*|pthread_(?:mutex|rwlock|cond)_\w+)\b/#
        return files.filter { file in
            file.module != nil && !Allowances.locks.contains { matches(file.path, $0.path) }
        }.flatMap { file in
            SwiftCode(file.text).occurrences(of: pattern).map { "\(file.path):\($0): a lock" }
        }
    }

    static func printing(_ files: [SourceFile]) -> [String] {
        let pattern = #/(?:^|[^\w.])(?:print|debugPrint|dump|NSLog)\(/#
        return files.filter { $0.isSwift && !Allowances.printing.contains($0.module ?? "router") }.flatMap { file in
            SwiftCode(file.text).occurrences(of: pattern).map { "\(file.path):\($0): a library does not print" }
        }
    }

    static func otherTestLibraries(_ files: [SourceFile]) -> [String] {
        files.flatMap { file in
            SwiftCode(file.text).imports.filter { $0.module == "XCTest" }.map { "\(file.path):\($0.line): XCTest" }
        }
    }

    /// `wanted` is a whole path, a folder ending in "/", or an ending beginning with ".".
    private static func matches(_ path: String, _ wanted: String) -> Bool {
        if wanted.hasPrefix(".") { return path.hasSuffix(wanted) }
        return wanted.hasSuffix("/") ? path.hasPrefix(wanted) : path == wanted
    }
}
