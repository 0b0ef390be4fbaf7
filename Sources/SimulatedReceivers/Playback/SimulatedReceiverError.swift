import Foundation

/// Why a simulated receiver cannot start or record.
public enum SimulatedReceiverError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A file cannot be created: its path and the system's error number.
    case cannotWrite(String, Int32)
    /// An address cannot be listened on.
    case cannotListen(host: String, port: Int, reason: String)
    /// A key or a certificate could not be made.
    case cryptography(String)

    public var description: String {
        switch self {
        case .cannotWrite(let path, let number): "cannot write \(path): \(String(cString: strerror(number)))"
        case .cannotListen(let host, let port, let reason): "cannot listen on \(host) port \(port): \(reason)"
        case .cryptography(let step): "cannot make a certificate: \(step) failed"
        }
    }
}
