import GRDB
import RouteModel

/// What the store itself finds wrong, before it is told to people.
enum StoreFault: Error {
    case newer(found: Int, known: Int)
    case folder(path: String, reason: String)
    case file(path: String, reason: String)
    /// Another process held the folder for longer than anybody should.
    case held(path: String)
    /// The file was damaged, and has been moved to `aside`; the store is empty now.
    case replaced(path: String, aside: String)
    case content(String)
}

extension RouterError {
    /// The one error of the store. `path` is nil for a store in memory.
    static func storage(_ error: any Error, doing what: String, path: String?) -> RouterError {
        let place = path ?? "in memory"
        switch error {
        case let error as RouterError:
            return error
        case StoreFault.newer(let found, let known):
            return RouterError(
                .storage,
                "the state file \(place) was written by a newer router (schema \(found), known here: \(known))",
                hint: "Update this router, or set XDG_STATE_HOME to another folder to begin with empty state",
                retry: .afterUserAction)
        case StoreFault.folder(let folder, let reason):
            return RouterError(
                .storage, "the state folder \(folder) cannot be used: \(reason)",
                hint: "Make it a folder that you may write to, or set XDG_STATE_HOME to another one",
                retry: .afterUserAction)
        case StoreFault.file(let file, let reason):
            return RouterError(
                .storage, "the state file \(file) cannot be used: \(reason)",
                hint: "Make it a file that you may write to, or set XDG_STATE_HOME to another folder",
                retry: .afterUserAction)
        case StoreFault.held(let folder):
            return RouterError(
                .storage, "another router has held the state folder \(folder) for too long",
                hint: "Wait for it, or end the router that hangs", retry: .later)
        case StoreFault.replaced(let path, let aside):
            return RouterError(
                .storage, "the state file \(path) was damaged: it was kept as \(aside) and an empty one was begun",
                hint: "Try again; what was remembered (queues, volumes) is in the file that was kept", retry: .now)
        case StoreFault.content(let reason):
            return RouterError(
                .storage, "could not \(what): \(reason)",
                hint: "Move the state file \(place) away to begin with empty state", retry: .afterUserAction)
        case let error as DatabaseError:
            return storage(error, doing: what, place: place)
        default:
            return RouterError(
                .storage, "could not \(what) (state file \(place))", hint: "Look at the cause, then try again",
                causes: ["\(type(of: error))"])
        }
    }

    private static func storage(_ error: DatabaseError, doing what: String, place: String) -> RouterError {
        // Only the result's own words: the statement and its arguments may hold tokens.
        let cause = "SQLite \(error.extendedResultCode.rawValue): \(error.message ?? "no message")"
        switch error.resultCode {
        case .SQLITE_FULL:
            return RouterError(
                .storage, "could not \(what): the disk that holds \(place) is full",
                hint: "Free some space there, then try again", retry: .afterUserAction, causes: [cause])
        case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH, .SQLITE_CANTOPEN:
            return RouterError(
                .storage, "could not \(what): the state file \(place) cannot be written",
                hint: "Check who owns the file and its folder, or set XDG_STATE_HOME to a folder of your own",
                retry: .afterUserAction, causes: [cause])
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            return RouterError(
                .storage, "could not \(what): another router is writing to \(place)",
                hint: "Try again in a moment", retry: .later, causes: [cause])
        case .SQLITE_IOERR:
            return RouterError(
                .storage, "could not \(what): the disk that holds \(place) gave an error",
                hint: "Check the disk (the system log says more)", retry: .afterUserAction, causes: [cause])
        default:
            return RouterError(
                .storage, "could not \(what) (state file \(place))",
                hint: "Move the state file away to begin with empty state", causes: [cause])
        }
    }
}

extension DatabaseError {
    /// Whether the file's content is broken, as opposed to access to it.
    var isDamage: Bool { resultCode == .SQLITE_CORRUPT || resultCode == .SQLITE_NOTADB }
}
