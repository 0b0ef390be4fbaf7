/// The version of the HTTP API (`Protocols/api`).
public enum APIVersion {
    /// What every path begins with.
    public static let prefix = "/api/v1"
}
