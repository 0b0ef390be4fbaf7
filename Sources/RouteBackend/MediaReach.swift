import RouteModel

/// Which files of this machine may be played for whoever asks just now.
///
/// It goes along with the task that asks: what a list of tracks names is held to it too, however deep it is nested.
public enum MediaReach {
    /// Whether this absolute path may be opened, wherever its links lead; nil: any may.
    @TaskLocal public static var allows: (@Sendable (_ path: String) -> Bool)?

    /// Throws `mediaForbidden`.
    public static func check(_ path: String) throws {
        guard let allows, !allows(path) else { return }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        throw RouterError(
            .mediaForbidden, "“\(name)” is in no folder that may be played from here",
            hint: "Name a file in one of the daemon's roots, or ask by its socket", scope: .item,
            retry: .afterUserAction)
    }
}
