import COpenSSL
import CastV2
import NIOCore
import NIOPosix
import NIOSSL

/// A server on loopback that does what a test says with each connection: TLS or not, Cast or not.
struct ScriptedReceiver {
    /// What it does with the bytes it gets; empty bytes when the connection has come about.
    typealias Script = @Sendable (_ bytes: [UInt8], _ reply: Reply) -> Void

    struct Reply: Sendable {
        let channel: any Channel

        func send(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }
        func send(_ messages: [CastMessage]) throws { send(try messages.flatMap { try CastFraming.encode($0) }) }
        func close() { channel.close(promise: nil) }
    }

    let port: Int
    private let server: any Channel

    init(tls: Bool = true, host: String = "127.0.0.1", script: @escaping Script) async throws {
        let context = tls ? try Self.context.get() : nil
        server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                    try channel.pipeline.syncOperations.addHandler(ScriptHandler(script: script))
                }
            }
            .bind(host: host, port: 0).get()
        port = server.localAddress?.port ?? 0
    }

    func stop() async { try? await server.close().get() }

    private static let context = Result {
        let identity = try TestIdentity()
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(try NIOSSLCertificate(bytes: identity.certificate, format: .der))],
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: identity.key, format: .der)))
        // What old devices offer.
        configuration.maximumTLSVersion = .tlsv12
        return try NIOSSLContext(configuration: configuration)
    }
}

private final class ScriptHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let script: ScriptedReceiver.Script

    init(script: @escaping ScriptedReceiver.Script) { self.script = script }

    func channelActive(context: ChannelHandlerContext) {
        script([], ScriptedReceiver.Reply(channel: context.channel))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        script(Array(unwrapInboundIn(data).readableBytesView), ScriptedReceiver.Reply(channel: context.channel))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// A key and a certificate that it signed itself, as devices have them. DER.
struct TestIdentity {
    struct Failure: Error {}

    var key: [UInt8]
    var certificate: [UInt8]

    init() throws {
        guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { throw Failure() }
        defer { EVP_PKEY_CTX_free(context) }
        var made: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
            EVP_PKEY_generate(context, &made) == 1, let pair = made, let x509 = X509_new()
        else { throw Failure() }
        defer {
            EVP_PKEY_free(pair)
            X509_free(x509)
        }
        X509_set_version(x509, 2)
        ASN1_INTEGER_set(X509_get_serialNumber(x509), 1)
        X509_gmtime_adj(X509_getm_notBefore(x509), -3600)
        X509_gmtime_adj(X509_getm_notAfter(x509), 86_400)
        X509_set_pubkey(x509, pair)
        let name = X509_get_subject_name(x509)
        _ = Array("test device".utf8).withUnsafeBufferPointer {
            X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, $0.baseAddress, Int32($0.count), -1, 0)
        }
        X509_set_issuer_name(x509, name)
        guard X509_sign(x509, pair, EVP_sha256()) > 0 else { throw Failure() }
        certificate = try Self.bytes { i2d_X509(x509, $0) }
        key = try Self.bytes { i2d_PrivateKey(pair, $0) }
    }

    private static func bytes(
        _ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
    ) throws -> [UInt8] {
        let count = Int(encode(nil))
        guard count > 0 else { throw Failure() }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
            var start = buffer.baseAddress
            used = Int(encode(&start))
        }
    }
}
