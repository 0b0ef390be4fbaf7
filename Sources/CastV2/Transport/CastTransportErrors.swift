import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// What the layers below say, in the words of `CastConnectionError`.
enum CastTransportErrors {
    static func translate(_ error: any Error) -> CastConnectionError {
        switch error {
        case let error as CastConnectionError: error
        case let error as CastFramingError: .notCast(error)
        case let error as NIOConnectionError: connection(error)
        case let error as IOError: system(error.errnoCode)
        case let error as NIOSSLError: tls(error)
        case let error as BoringSSLError: tls(.handshakeFailed(error))
        case ChannelError.connectTimeout: .timedOut
        case ChannelError.ioOnClosedChannel, ChannelError.alreadyClosed, ChannelError.eof, ChannelError.inputClosed,
            ChannelError.outputClosed:
            .closedByPeer
        case is CancellationError: .ended
        default: .network(String(describing: type(of: error)))
        }
    }

    private static func connection(_ error: NIOConnectionError) -> CastConnectionError {
        let attempts = error.connectionErrors.map { translate($0.error) }
        // Nothing listens on any address: say that rather than the story of the last address.
        if attempts.contains(.refused) { return .refused }
        return attempts.first ?? .nameNotFound
    }

    private static func system(_ code: Int32) -> CastConnectionError {
        switch code {
        case ECONNREFUSED: .refused
        case ETIMEDOUT: .timedOut
        case ECONNRESET, EPIPE, ENOTCONN: .closedByPeer
        case EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN, EADDRNOTAVAIL, EINVAL:
            .unreachable(String(cString: strerror(code)))
        default: .network(String(cString: strerror(code)))
        }
    }

    private static func tls(_ error: NIOSSLError) -> CastConnectionError {
        switch error {
        case .uncleanShutdown: return .closedByPeer
        case .handshakeFailed(let reason):
            let text = String(describing: reason)
            // What BoringSSL makes of an answer that is no TLS record.
            let plain = ["WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "INVALID_OUTER_RECORD_TYPE"]
            if plain.contains(where: text.contains) { return .notTLS }
            if case .sslError(let stack) = reason {
                if stack.contains(.eofDuringHandshake) { return .closedByPeer }
                return .tlsFailed(stack.first.map { String(describing: $0) } ?? "handshake failed")
            }
            return .closedByPeer
        default: return .tlsFailed(String(describing: error))
        }
    }
}
