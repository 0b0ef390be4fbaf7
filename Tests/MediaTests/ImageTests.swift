import Foundation
import NIOHTTP1
import NIOSSL
import RouteBackend
import RouteModel
import RouterTestKit
import Synchronization
import Testing

@testable import Media

@Suite("Pictures")
struct ImageTests {
    /// The beginning of a PNG of that size, then filling.
    private static func png(_ width: UInt16 = 64, _ height: UInt16 = 48, bytes count: Int = 40) -> [UInt8] {
        var bytes: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
        bytes += [0, 0, UInt8(width >> 8), UInt8(width & 255), 0, 0, UInt8(height >> 8), UInt8(height & 255)]
        return bytes + [UInt8](repeating: 0, count: max(0, count - bytes.count))
    }

    @Test("C18 kinds and sizes by content", .enabled(if: Tools.ffmpegPath != nil))
    func made() async throws {
        let folder = try ScratchFolder()
        for (name, kind) in [("a.jpg", ImageFacts.Kind.jpeg), ("a.png", .png), ("a.gif", .gif)] {
            try await Tools.ffmpeg(["-f", "lavfi", "-i", "color=red:size=70x50", "-frames:v", "1", folder(name)])
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder(name))))
            #expect(ImageFacts(bytes) == ImageFacts(kind: kind, width: 70, height: 50))
            // Cut anywhere, it is a picture or none, and no crash.
            for count in 0..<min(bytes.count, 400) { _ = ImageFacts(Array(bytes.prefix(count))) }
        }
    }

    @Test("C18 WebP in its three forms")
    func webP() {
        let head = Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WEBP".utf8)
        let lossy = head + Array("VP8 ".utf8) + [0, 0, 0, 0, 0, 0, 0, 0x9D, 0x01, 0x2A, 70, 0, 50, 0]
        let extended = head + Array("VP8X".utf8) + [10, 0, 0, 0, 0, 0, 0, 0, 69, 0, 0, 49, 0, 0]
        let bits = UInt32(69) | UInt32(49) << 14
        let lossless =
            head + Array("VP8L".utf8) + [0, 0, 0, 0, 0x2F]
            + (0..<4).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) } + [0, 0, 0, 0, 0]
        for bytes in [lossy, extended, lossless] {
            #expect(ImageFacts(bytes) == ImageFacts(kind: .webp, width: 70, height: 50))
            for count in 0..<bytes.count { #expect(ImageFacts(Array(bytes.prefix(count))) == nil) }
        }
    }

    @Test(
        "What is no such picture is none",
        arguments: [
            [], Array("<svg/>".utf8), Array("BM123456789012345678901234567890".utf8), [0xFF, 0xD8, 0xFF],
            [0xFF, 0xD8, 0xFF, 0xC0, 0, 0, 0, 0, 0, 0, 0, 0], [0xFF, 0xD8, 0xFF, 0xE0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
            Array("GIF89a".utf8) + [0, 0, 5, 0], Self.png(0, 5),
        ] as [[UInt8]])
    func none(_ bytes: [UInt8]) { #expect(ImageFacts(bytes) == nil) }

    private func cache(_ clock: ManualClock, _ limits: ImageCache.Limits = ImageCache.Limits()) -> ImageCache {
        ImageCache(
            limits: limits, clock: clock, logger: quietLogger(), fetcher: HTTPFetcher(clock: SystemHostClock()))
    }

    @Test("C18 fresh for as long as the server says, then asked for again by its tag")
    func revalidation() async throws {
        let server = try await ImageTestServer { _, headers in
            headers.first(name: "If-None-Match") == "\"1\""
                ? ImageTestServer.Answer(status: 304, headers: [("Cache-Control", "max-age=60")])
                : ImageTestServer.Answer(
                    headers: [("ETag", "\"1\""), ("Cache-Control", "max-age=60")], body: Self.png())
        }
        let clock = ManualClock()
        let cache = cache(clock)
        for _ in 0..<3 { #expect(try await cache.image(server.url("/a")).facts.width == 64) }
        #expect(server.requests.count == 1)
        clock.advance(nanoseconds: 61_000_000_000)
        #expect(try await cache.image(server.url("/a")).bytes == Self.png())
        #expect(server.requests.count == 2)
        _ = try await cache.image(server.url("/a"))
        #expect(server.requests.count == 2)
        // Old, and the server gone: what was right is shown.
        clock.advance(nanoseconds: 61_000_000_000)
        await server.stop()
        #expect(try await cache.image(server.url("/a")).bytes == Self.png())
    }

    @Test("C18 no-store is not kept, no-cache is asked for each time, many at once are one request")
    func control() async throws {
        let server = try await ImageTestServer { path, _ in
            ImageTestServer.Answer(headers: [("Cache-Control", String(path.dropFirst()))], body: Self.png())
        }
        let cache = cache(ManualClock())
        for _ in 0..<2 { _ = try await cache.image(server.url("/no-store")) }
        #expect(await cache.kept.count == 0)
        for _ in 0..<2 { _ = try await cache.image(server.url("/no-cache")) }
        #expect(server.requests.count == 4)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { _ = try await cache.image(server.url("/max-age=9")) } }
            try await group.waitForAll()
        }
        #expect(server.requests.count == 5)
        await server.stop()
    }

    @Test("C18 bounds of number and bytes: what was used longest ago goes")
    func bounds() async throws {
        let server = try await ImageTestServer { _, _ in ImageTestServer.Answer(body: Self.png(bytes: 1000)) }
        let few = cache(ManualClock(), ImageCache.Limits(count: 2))
        for path in ["/a", "/b", "/a", "/c", "/a"] { _ = try await few.image(server.url(path)) }
        #expect(await few.kept.count == 2)
        #expect(server.requests.map(\.uri) == ["/a", "/b", "/c"])
        let small = cache(ManualClock(), ImageCache.Limits(bytes: 2500))
        for path in ["/a", "/b", "/c", "/d"] { _ = try await small.image(server.url(path)) }
        #expect(await small.kept.bytes == 2000)
        await server.stop()
    }

    @Test(
        "C18 what is no picture, too long, gone, forbidden or leads in circles is refused with a reason",
        arguments: [
            ("/text", RouterError.Code.mediaUnsupported), ("/long", .mediaUnsupported), ("/claims", .mediaUnsupported),
            ("/404", .mediaNotFound), ("/403", .mediaForbidden), ("/500", .mediaUnreachable),
            ("/loop?secret=1", .mediaUnreachable), ("/file", .mediaUnsupported),
        ])
    func refused(_ path: String, _ code: RouterError.Code) async throws {
        let server = try await ImageTestServer { path, _ in
            switch path.prefix(5) {
            case "/text": ImageTestServer.Answer(headers: [("Content-Type", "image/png")], body: Array("hello".utf8))
            case "/long": ImageTestServer.Answer(body: Self.png(bytes: 5000))
            case "/clai": ImageTestServer.Answer(headers: [("Content-Length", "99999999")], body: Self.png())
            case "/loop": ImageTestServer.Answer(status: 302, headers: [("Location", "/loop?secret=1")])
            case "/file": ImageTestServer.Answer(status: 302, headers: [("Location", "file:///etc/passwd")])
            default: ImageTestServer.Answer(status: Int(path.dropFirst()) ?? 200, body: Self.png())
            }
        }
        let cache = cache(ManualClock(), ImageCache.Limits(imageBytes: 4000))
        let error = await #expect(throws: RouterError.self) { try await cache.image(server.url(path)) }
        #expect(error?.code == code)
        #expect(error.map { "\($0)\($0.causes)".contains("secret") } == false)
        #expect(server.requests.count <= 6)
        await server.stop()
    }

    @Test("C18 redirects are followed; a tag goes to no other server")
    func redirects() async throws {
        let other = try await ImageTestServer { _, _ in ImageTestServer.Answer(body: Self.png()) }
        let target = other.url("/there")
        let server = try await ImageTestServer { path, _ in
            path == "/a"
                ? ImageTestServer.Answer(status: 301, headers: [("Location", "b?x=1")])
                : ImageTestServer.Answer(status: 307, headers: [("Location", target)])
        }
        let fetcher = HTTPFetcher(clock: SystemHostClock())
        let answer = try await fetcher.get(
            server.url("/a"), headers: [("If-None-Match", "\"t\"")],
            limits: HTTPFetchLimits(bytes: 1000, redirects: 5, seconds: 10))
        #expect(answer.status == 200)
        #expect(server.requests.map(\.uri) == ["/a", "/b?x=1"])
        #expect(other.requests.first?.headers.contains(name: "If-None-Match") == false)
        await server.stop()
        await other.stop()
    }

    @Test("A server that says nothing is given up after the time allowed, and stop ends a fetch")
    func silent() async throws {
        let server = try await ImageTestServer { _, _ in ImageTestServer.Answer(isSilent: true) }
        let clock = ManualClock()
        let fetcher = HTTPFetcher(clock: clock)
        func code(_ body: () async throws -> Void) async -> RouterError.Code? {
            do {
                try await body()
                return nil
            } catch {
                return (error as? RouterError)?.code ?? .cancelled
            }
        }
        async let answer = code {
            _ = try await fetcher.get(
                server.url("/"), headers: [], limits: HTTPFetchLimits(bytes: 1, redirects: 0, seconds: 7))
        }
        #expect(await eventually { server.requests.count == 1 && clock.sleepers > 0 })
        clock.advance(nanoseconds: 7_000_000_000)
        #expect(await answer == .timeout)
        let cache = cache(clock)
        async let image = code { _ = try await cache.image(server.url("/b")) }
        #expect(await eventually { server.requests.count == 2 })
        await cache.stop()
        #expect(await image == .cancelled)
        await server.stop()
    }

    @Test(
        "C18 over HTTPS: an unknown certificate is refused, a known root trusted",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")))
    func secure() async throws {
        let folder = try ScratchFolder()
        try await Tools.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                "subjectAltName=IP:127.0.0.1", "-keyout", folder("key.pem"), "-out", folder("cert.pem"),
            ])
        let certificates = try NIOSSLCertificate.fromPEMFile(folder("cert.pem"))
        let security = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: certificates.map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: folder("key.pem"), format: .pem))))
        let server = try await ImageTestServer(security: security) { path, _ in
            path == "/down"
                ? ImageTestServer.Answer(status: 302, headers: [("Location", "http://127.0.0.1/a")])
                : ImageTestServer.Answer(body: Self.png())
        }
        let limits = HTTPFetchLimits(bytes: 1000, redirects: 2, seconds: 10)
        let url = server.url("/a", scheme: "https")
        let plain = HTTPFetcher(clock: SystemHostClock())
        let error = await #expect(throws: RouterError.self) { try await plain.get(url, headers: [], limits: limits) }
        #expect(error?.code == .mediaUnreachable)
        let trusting = HTTPFetcher(clock: SystemHostClock(), additionalRoots: certificates)
        #expect(try await trusting.get(url, headers: [], limits: limits).body == Self.png())
        let down = await #expect(throws: RouterError.self) {
            try await trusting.get(server.url("/down", scheme: "https"), headers: [], limits: limits)
        }
        #expect(down?.message.contains("https to http") == true)
        await server.stop()
    }

    @Test(
        "C18 pictures of local files come sized, those that only this network knows through us",
        .enabled(if: Tools.ffmpegPath != nil))
    func served() async throws {
        let folder = try ScratchFolder()
        let song = try await Tone.write(Tone.samples(frames: 44_100), to: folder("a.flac"))
        try await Tools.ffmpeg(["-f", "lavfi", "-i", "testsrc=size=1600x900", "-frames:v", "1", folder("Folder.jpg")])
        let media = library()
        let requirements = PullRequirements(receiverAddress: "127.0.0.1")
        let plain = try await media.publish(
            QueueItem(id: ItemID(rawValue: "1"), source: .file(path: song)), token: .random(), for: requirements)
        #expect(plain.metadata.images.map(\.role) == [.cover, .thumbnail])
        for (image, side) in zip(plain.metadata.images, [1280, 320]) {
            let url = try #require(URL(string: image.url))
            let answer = try await RawHTTPClient(port: try #require(url.port)).get(url.path)
            #expect(answer.status == 200 && answer["Content-Type"] == "image/jpeg")
            #expect(ImageFacts(answer.body)?.width == side)
        }
        let server = try await ImageTestServer { _, _ in ImageTestServer.Answer(body: Self.png()) }
        var item = QueueItem(id: ItemID(rawValue: "2"), source: .file(path: song))
        let local = "http://localhost:\(server.port)/cover"
        item.metadata.images = [MediaImage(url: local), MediaImage(url: "https://example.org/b.jpg")]
        let own = try await media.publish(item, token: .random(), for: requirements)
        #expect(own.metadata.images.last?.url == "https://example.org/b.jpg")
        let url = try #require(own.metadata.images.first.flatMap { URL(string: $0.url) })
        #expect(url.path == "/art/\(own.token.rawValue)/2")
        #expect(try await RawHTTPClient(port: try #require(url.port)).get(url.path).body == Self.png())
        await server.stop()
        await media.stop()
    }
}
