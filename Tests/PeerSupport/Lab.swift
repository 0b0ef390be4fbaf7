import Foundation
import Testing

/// The throw-away network of `Tests/lab.sh`.
public enum Lab {
    /// Whether this process runs in it.
    public static var isInside: Bool { ProcessInfo.processInfo.environment["ROUTER_LAB"] == "1" }
    public static let reason: Comment = "needs the lab: Tests/lab.sh (Tests/run.sh runs it there)"
}
