import NIOCore
import NIOPosix

/// The one place that receivers send remote commands to: known to them by its `DACP-ID`, and each session of ours by its
/// `Active-Remote` (`Protocols/dacp`).
public final class DACPServer: Sendable {
    public static let serviceType = "_dacp._tcp"

    /// Bytes and fields of a request; there are no bodies worth reading.
    static let limits = RTSPMessageDecoder.Limits(headerBytes: 8 * 1024, headerCount: 32, bodyBytes: 16 * 1024)
    /// Connections at a time, and how long one may say nothing.
    static let maximumConnections = 64
    static let idleLimit = TimeAmount.seconds(300)

    public let dacpID: String
    public let port: Int
    private let channel: any Channel
    private let office: NIOLoopBound<DACPOffice>

    /// As it is to be published: `iTunes_Ctrl_<DACP-ID>`.
    public var serviceName: String { "iTunes_Ctrl_\(dacpID)" }

    /// The TXT record beside it.
    public var serviceText: [String: String] {
        ["txtvers": "1", "Ver": "131075", "DbId": dacpID, "OSsi": "0x1F5"]
    }

    private init(dacpID: String, channel: any Channel, office: NIOLoopBound<DACPOffice>) {
        self.dacpID = dacpID
        self.channel = channel
        self.office = office
        port = channel.localAddress?.port ?? 0
    }

    /// Listens. Throws `DACPServerError`.
    ///
    /// - Parameters:
    ///   - hosts: addresses to listen on, the first that can be had is taken.
    ///   - port: 0 for any.
    public static func start(
        dacpID: String = DACPAddress.randomID(), hosts: [String] = ["::", "0.0.0.0"], port: Int = 0,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) async throws(DACPServerError) -> DACPServer {
        let loop = group.next()
        var failure = DACPServerError.cannotListen(reason: "no address was given")
        for host in hosts {
            do {
                let (channel, office) = try await listen(host: host, port: port, on: loop)
                return DACPServer(dacpID: dacpID, channel: channel, office: office)
            } catch {
                failure = .cannotListen(reason: "\(error)")
            }
        }
        throw failure
    }

    private static func listen(
        host: String, port: Int, on loop: any EventLoop
    ) async throws -> (any Channel, NIOLoopBound<DACPOffice>) {
        // All on one event loop, which is all the order that is needed.
        let office = try await loop.submit { NIOLoopBound(DACPOffice(), eventLoop: loop) }.get()
        let channel = try await ServerBootstrap(group: loop)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        IdleStateHandler(allTimeout: idleLimit), RTSPCodecHandler(limits: limits),
                        DACPServerHandler(office: office.value),
                    ])
                }
            }
            .bind(host: host, port: port).get()
        return (channel, office)
    }

    /// A session, from now on known to receivers by its `activeRemote`.
    public func open() async -> DACPSession {
        let (commands, continuation) = AsyncStream.makeStream(
            of: AirPlayRemoteCommand.self, bufferingPolicy: .bufferingOldest(DACPSession.backlog))
        let remote = UInt32.random(in: 1 ... .max)
        let office = office
        try? await channel.eventLoop.submit { office.value.open(remote, continuation) }.get()
        return DACPSession(
            address: DACPAddress(dacpID: dacpID, activeRemote: remote), commands: commands
        ) { [channel] status in
            channel.eventLoop.execute {
                if let status { office.value.report(status, of: remote) } else { office.value.close(remote) }
            }
        }
    }

    /// Closes every connection, and ends every session's commands.
    public func stop() async {
        let office = office
        channel.close(promise: nil)
        try? await channel.eventLoop.submit { office.value.closeAll() }.get()
        try? await channel.closeFuture.get()
    }
}

public enum DACPServerError: Error, Sendable, Hashable {
    case cannotListen(reason: String)
}

/// Where a receiver's remote commands go: the server's name, and the session's number there.
public struct DACPAddress: Sendable, Hashable {
    /// `DACP-ID` and `Client-Instance`: 16 hex digits, the first of them not 0, for some receivers compare without leading
    /// zeros.
    public var dacpID: String
    /// `Active-Remote`.
    public var activeRemote: UInt32

    public init(dacpID: String, activeRemote: UInt32) {
        self.dacpID = dacpID
        self.activeRemote = activeRemote
    }

    public static func random() -> DACPAddress {
        DACPAddress(dacpID: randomID(), activeRemote: UInt32.random(in: 1 ... .max))
    }

    public static func randomID() -> String {
        String(UInt64.random(in: 0x1000_0000_0000_0000 ... .max), radix: 16, uppercase: true)
    }
}

/// One session's place at the server.
public struct DACPSession: Sendable {
    /// Commands that may wait to be read; what comes then is lost, for nobody meant so many.
    public static let backlog = 64

    /// What the session's requests say of us.
    public let address: DACPAddress
    /// What is asked, in order; finishes with the session. One reader.
    public let commands: AsyncStream<AirPlayRemoteCommand>
    private let tell: @Sendable (DACPStatus?) -> Void

    init(
        address: DACPAddress, commands: AsyncStream<AirPlayRemoteCommand>,
        tell: @escaping @Sendable (DACPStatus?) -> Void
    ) {
        self.address = address
        self.commands = commands
        self.tell = tell
    }

    /// What remotes are told from now on.
    public func report(_ status: DACPStatus) { tell(status) }

    /// Nobody has this `activeRemote` any more.
    public func close() { tell(nil) }
}

/// The desk with its connections: lives on one event loop.
final class DACPOffice {
    private var desk = DACPDesk()
    private var commands: [UInt32: AsyncStream<AirPlayRemoteCommand>.Continuation] = [:]
    private var connections: [Int: DACPServerHandler] = [:]
    private var nextConnection = 0

    func open(_ remote: UInt32, _ continuation: AsyncStream<AirPlayRemoteCommand>.Continuation) {
        desk.open(remote)
        commands[remote] = continuation
    }

    func close(_ remote: UInt32) {
        deliver(desk.close(remote))
        commands.removeValue(forKey: remote)?.finish()
    }

    func closeAll() {
        for remote in Array(commands.keys) { close(remote) }
        for connection in Array(connections.values) { connection.close() }
    }

    func report(_ status: DACPStatus, of remote: UInt32) { deliver(desk.report(status, of: remote)) }

    /// A number for a connection; nil where there are too many.
    func admit(_ handler: DACPServerHandler) -> Int? {
        guard connections.count < DACPServer.maximumConnections else { return nil }
        nextConnection += 1
        connections[nextConnection] = handler
        return nextConnection
    }

    func leave(_ connection: Int) {
        connections[connection] = nil
        desk.forget(connection)
    }

    /// - Returns: the answer, unless it is to come later.
    func take(_ request: RTSPRequest, from connection: Int) -> RTSPResponse? {
        let (answer, command) = desk.take(request, waiter: connection)
        if let (command, session) = command { commands[session]?.yield(command) }
        switch answer {
        case .now(let response): return response
        case .later: return nil
        }
    }

    private func deliver(_ answers: [(waiter: Int, answer: RTSPResponse)]) {
        for (waiter, answer) in answers { connections[waiter]?.answer(answer) }
    }
}

/// One connection of a receiver: a request at a time, each answered before the next.
final class DACPServerHandler: ChannelInboundHandler {
    typealias InboundIn = RTSPMessage
    typealias OutboundOut = ByteBuffer

    private let office: DACPOffice
    private var context: ChannelHandlerContext?
    private var number: Int?
    /// Requests that came while one waits for its answer; more are more than any remote sends.
    private var queued: [RTSPRequest] = []
    private var waiting = false
    private static let maximumQueued = 8

    init(office: DACPOffice) { self.office = office }

    func channelActive(context: ChannelHandlerContext) {
        self.context = context
        number = office.admit(self)
        if number == nil { context.close(promise: nil) }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .request(let request) = unwrapInboundIn(data), queued.count < Self.maximumQueued else {
            context.close(promise: nil)
            return
        }
        queued.append(request)
        proceed()
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let number { office.leave(number) }
        number = nil
        self.context = nil
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // One that waits for news may be silent for long; it is the remote's to give up.
        if event is IdleStateHandler.IdleStateEvent, !waiting { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    /// What is no HTTP is told so, once, and not read any further.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is RTSPDecodingError {
            let refused = RTSPResponse(
                version: .http11, status: DACPRefusal.malformed.rawValue, reason: DACPRefusal.malformed.reason)
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: refused.encoded())), promise: nil)
        }
        context.close(promise: nil)
    }

    func answer(_ response: RTSPResponse) {
        waiting = false
        context?.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: response.encoded())), promise: nil)
        proceed()
    }

    func close() { context?.close(promise: nil) }

    private func proceed() {
        while !waiting, !queued.isEmpty, let number {
            let request = queued.removeFirst()
            if let response = office.take(request, from: number) {
                context?.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: response.encoded())), promise: nil)
                if request.version == .http10 || request.headers["Connection"]?.lowercased() == "close" {
                    context?.close(promise: nil)
                }
            } else {
                waiting = true
            }
        }
    }
}
