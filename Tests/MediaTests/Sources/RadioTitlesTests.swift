import Foundation
import NIOCore
import NIOPosix
import RouteBackend
import RouteModel
import RouterTestKit
import Synchronization
import Testing

@testable import Media

/// An internet radio: sound without end, and a title between it whenever that is another.
final class TestRadio: Sendable {
    struct Script: Sendable {
        /// Between titles; nil sends none.
        var interval: Int? = 4096
        var firstLine = "ICY 200 OK"
        var sound = [UInt8](repeating: 0x27, count: 4096)
        /// Where `/moved` leads.
        var location = "/live"
    }

    fileprivate struct State {
        var title = "Somebody - First"
        var requests: [String] = []
        var open: [any Channel] = []
    }

    let port: Int
    private let channel: any Channel
    private let state: Shared

    final class Shared: Sendable {
        fileprivate let value = Mutex(State())
    }

    init(_ script: Script = Script()) async throws {
        let state = Shared()
        self.state = state
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(script, state))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    func url(_ path: String = "/live") -> String { "http://127.0.0.1:\(port)\(path)" }
    func plays(_ title: String) { state.value.withLock { $0.title = title } }
    var requests: [String] { state.value.withLock { $0.requests } }

    /// Ends every connection that is open.
    func drop() { for channel in state.value.withLock({ $0.open }) { channel.close(promise: nil) } }

    func stop() async {
        drop()
        try? await channel.close()
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let script: Script
        private let state: Shared
        private var request = ""
        private var told = ""

        init(_ script: Script, _ state: Shared) {
            self.script = script
            self.state = state
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            request += String(buffer: unwrapInboundIn(data))
            guard request.hasSuffix("\r\n\r\n") else { return }
            state.value.withLock {
                $0.requests.append(request)
                $0.open.append(context.channel)
            }
            if request.contains(" /moved ") {
                write("HTTP/1.0 302 Found\r\nLocation: \(script.location)\r\n\r\n", context)
                return context.close(promise: nil)
            }
            let words = request.lowercased().contains("icy-metadata: 1") ? script.interval : nil
            let interval = words.map { "icy-metaint:\($0)\r\n" } ?? ""
            write("\(script.firstLine)\r\nContent-Type: audio/mpeg\r\nicy-name: Test FM\r\n\(interval)\r\n", context)
            send(context, from: 0, words: words)
        }

        private func write(_ text: String, _ context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        }

        private func send(_ context: ChannelHandlerContext, from start: Int, words: Int?) {
            guard context.channel.isActive else { return }
            let count = words ?? 4096
            var bytes = (0..<count).map { script.sound[(start + $0) % script.sound.count] }
            if words != nil {
                let title = state.value.withLock { $0.title }
                let text = title == told ? [] : [UInt8]("StreamTitle='\(title)';".utf8)
                told = title
                bytes.append(UInt8((text.count + 15) / 16))
                bytes += text + [UInt8](repeating: 0, count: (16 - text.count % 16) % 16)
            }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            context.eventLoop.scheduleTask(in: .milliseconds(10)) {
                let (handler, context) = bound.value
                handler.send(context, from: (start + count) % handler.script.sound.count, words: words)
            }
        }
    }
}

struct RadioTitlesTests {
    /// What was heard, and how many more to hear before it is enough.
    private actor Heard {
        private(set) var titles: [String?] = []
        private(set) var stations: [String?] = []
        private(set) var looks = 0
        private let limit: Int
        init(_ limit: Int) { self.limit = limit }

        func take(_ metadata: MediaMetadata?) -> Bool {
            guard let metadata else {
                looks += 1
                return true
            }
            titles.append(metadata.title)
            stations.append(metadata.studio)
            return titles.count < limit
        }
    }

    private func listen(_ url: String, _ heard: Heard, _ clock: any HostClock = SystemHostClock()) async {
        await RadioTitles(clock: clock, fetcher: HTTPFetcher(clock: clock)).listen(to: url) { await heard.take($0) }
    }

    @Test("C24 each new title is told once, with its station, until that is enough", arguments: ["/live", "/moved"])
    func titles(_ path: String) async throws {
        let radio = try await TestRadio()
        let heard = Heard(2)
        async let listening: Void = listen(radio.url(path), heard)
        #expect(await eventually { await heard.titles == ["First"] })
        radio.plays("Somebody - Second")
        await listening
        #expect(await heard.titles == ["First", "Second"])
        #expect(await heard.stations == ["Test FM", "Test FM"])
        await radio.stop()
    }

    @Test("C24 a radio without titles, one that leads elsewhere for ever, and none at all are given up")
    func silent() async throws {
        let heard = Heard(1)
        let plain = try await TestRadio(TestRadio.Script(interval: nil))
        await listen(plain.url(), heard)
        let round = try await TestRadio(TestRadio.Script(location: "/moved"))
        await listen(round.url("/moved"), heard)
        #expect(round.requests.count == 6)
        let chunks = try await TestRadio(TestRadio.Script(firstLine: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"))
        let clock = ManualClock()
        async let broken: Void = listen(chunks.url(), heard, clock)
        #expect(
            await eventually {
                clock.advance(seconds: 61)
                return chunks.requests.count == 5
            })
        await broken
        await listen("ftp://127.0.0.1/x", heard)
        #expect(await heard.titles.isEmpty)
        for radio in [plain, round, chunks] { await radio.stop() }
    }

    @Test("C24 a connection that breaks is made again, and nobody who wants to know ends it")
    func reconnects() async throws {
        let clock = ManualClock()
        let radio = try await TestRadio()
        let heard = Heard(2)
        async let listening: Void = listen(radio.url(), heard, clock)
        #expect(await eventually { await heard.titles.count == 1 })
        radio.drop()
        radio.plays("Second")
        // Two sleep: one until it is looked whether anybody listens, one until the next attempt.
        #expect(await eventually { clock.sleepers == 2 })
        clock.advance(seconds: 5)
        await listening
        #expect(await heard.titles == ["First", "Second"])
        #expect(radio.requests.count == 2)

        let answer = Mutex(true)
        async let given: Void = RadioTitles(clock: clock, fetcher: HTTPFetcher(clock: clock)).listen(
            to: radio.url()
        ) { _ in answer.withLock { $0 } }
        #expect(await eventually { radio.requests.count == 3 })
        answer.withLock { $0 = false }
        #expect(await eventually { clock.sleepers >= 1 })
        clock.advance(seconds: 5)
        await given
        await radio.stop()
    }

    @Test("C24 a station that is played says its titles, and a song of a web server none")
    func played() async throws {
        let tone = try await Tools.ffmpeg([
            "-f", "lavfi", "-i", "sine=frequency=440:duration=4", "-b:a", "64k", "-f", "mp3", "pipe:1",
        ])
        let radio = try await TestRadio(TestRadio.Script(firstLine: "HTTP/1.0 200 OK", sound: tone))
        let media = library()
        let heard = Heard(1)
        await media.titles(of: .url(radio.url())) { await heard.take($0) }
        #expect(await heard.titles == ["First"])
        await media.titles(of: .file(path: "/nowhere.mp3")) { await heard.take($0) }
        #expect(await heard.titles.count == 1)
        await media.stop()
        await radio.stop()
    }
}
