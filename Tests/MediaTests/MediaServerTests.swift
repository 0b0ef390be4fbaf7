import Foundation
import Glibc
import Logging
import RouteBackend
import RouteModel
import RouterTestKit
import Testing

@testable import Media

@Suite("Media server", .enabled(if: Tools.ffmpegPath != nil, "ffmpeg is not installed"))
struct MediaServerTests {
    let folder: ScratchFolder
    let path: String
    let bytes: [UInt8]

    init() async throws {
        folder = try ScratchFolder()
        path = try await Tone.write(
            Tone.samples(frames: 44_100 * 3), to: folder("It's “a” song.flac"), tags: ["title": "A song"])
        bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Publishes the file, gives the test a client and the URL's path, and stops all afterwards.
    private func serving(
        _ configuration: MediaConfiguration = MediaConfiguration(serverPort: 0), receiver: String = "127.0.0.1",
        _ body: (MediaLibrary, RawHTTPClient, _ path: String, PullMedia) async throws -> Void
    ) async throws {
        let media = library(configuration)
        let published = try await media.publish(
            QueueItem(id: ItemID(rawValue: "1"), source: .file(path: path)), token: .random(),
            for: PullRequirements(receiverAddress: receiver))
        let url = try #require(URL(string: published.url))
        do {
            try await body(media, RawHTTPClient(port: try #require(url.port)), url.path, published)
        } catch {
            await media.stop()
            throw error
        }
        await media.stop()
    }

    @Test("K3 a file is published with its type, title and an unguessable address, and comes back whole")
    func whole() async throws {
        try await serving { media, client, path, published in
            #expect(published.contentType == "audio/flac")
            #expect(published.metadata.title == "A song")
            #expect(published.url.hasPrefix("http://127.0.0.1:\(client.port)/media/\(published.token.rawValue)/"))
            #expect(published.url.hasSuffix(".flac"))
            let answer = try await client.get(path)
            #expect(answer.status == 200)
            #expect(answer.body == bytes)
            #expect(answer["Content-Type"] == "audio/flac")
            #expect(answer["Content-Length"] == "\(bytes.count)")
            #expect(answer["Accept-Ranges"] == "bytes")
            #expect(answer["Access-Control-Allow-Origin"] == "*")
            #expect(answer["Access-Control-Expose-Headers"]?.contains("Content-Range") == true)
            #expect(
                await eventually {
                    guard let record = await media.fetches(of: published.token) else { return false }
                    return record.requests == 1 && record.bytes == Int64(bytes.count)
                        && record.lastAddress == "127.0.0.1" && record.lastStatus == 200
                        && record.exchanges.first?.completed == 1
                })
        }
    }

    @Test("Single ranges of every form are exact to the byte")
    func ranges() async throws {
        let size = bytes.count
        let cases: [(String, Range<Int>)] = [
            ("bytes=0-0", 0..<1), ("bytes=0-499", 0..<500), ("bytes=\(size - 1)-", size - 1..<size),
            ("bytes=-50", size - 50..<size), ("bytes=1000-", 1000..<size), ("bytes=100-\(size * 2)", 100..<size),
            ("bytes=-\(size * 2)", 0..<size), ("bytes=7-300000", 7..<min(300_001, size)),
        ]
        try await serving { _, client, path, _ in
            for (header, range) in cases {
                let answer = try await client.get(path, ["Range": header])
                #expect(answer.status == 206, "\(header)")
                #expect(answer.body == Array(bytes[range]), "\(header)")
                #expect(answer["Content-Range"] == "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)")
                #expect(answer["Content-Length"] == "\(range.count)")
            }
            for header in ["bytes=\(size)-", "bytes=-0", "bytes=0-,0-,0-,0-"] {
                let answer = try await client.get(path, ["Range": header])
                #expect(answer.status == 416, "\(header)")
                #expect(answer["Content-Range"] == "bytes */\(size)")
                #expect(answer.body.isEmpty)
            }
            for header in ["bytes=9-1", "lines=1-2", "bytes=x"] {
                let answer = try await client.get(path, ["Range": header])
                #expect(answer.status == 200 && answer.body == bytes, "\(header)")
            }
        }
    }

    @Test("Several ranges come as parts, in the order asked for")
    func multipart() async throws {
        try await serving { _, client, path, _ in
            let answer = try await client.get(path, ["Range": "bytes=500-599,0-9,-5"])
            #expect(answer.status == 206)
            let type = try #require(answer["Content-Type"])
            #expect(type.hasPrefix("multipart/byteranges; boundary="))
            let boundary = try #require(type.components(separatedBy: "boundary=").last)
            var expected: [UInt8] = []
            for (index, range) in [500..<600, 0..<10, bytes.count - 5..<bytes.count].enumerated() {
                expected += Array("\(index == 0 ? "" : "\r\n")--\(boundary)\r\nContent-Type: audio/flac\r\n".utf8)
                expected += Array(
                    "Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes.count)\r\n\r\n".utf8)
                expected += bytes[range]
            }
            expected += Array("\r\n--\(boundary)--\r\n".utf8)
            #expect(answer.body == expected)
            #expect(answer["Content-Length"] == "\(expected.count)")
        }
    }

    @Test("HEAD says what GET would, without a body, and ignores a range")
    func head() async throws {
        try await serving { _, client, path, _ in
            for fields in [[:], ["Range": "bytes=0-9"]] {
                let answer = try await client.get(path, method: "HEAD", fields)
                #expect(answer.status == 200)
                #expect(answer["Content-Length"] == "\(bytes.count)")
                #expect(answer["Content-Type"] == "audio/flac")
                #expect(answer.body.isEmpty)
            }
        }
    }

    @Test("Conditions: If-None-Match, If-Modified-Since, If-Match, If-Range")
    func conditions() async throws {
        try await serving { _, client, path, _ in
            let first = try await client.get(path, method: "HEAD")
            let tag = try #require(first["ETag"])
            let date = try #require(first["Last-Modified"])
            let old = "Sun, 06 Nov 1994 08:49:37 GMT"
            let cases: [([String: String], Int)] = [
                (["If-None-Match": tag], 304), (["If-None-Match": "\"x\", W/\(tag)"], 304),
                (["If-None-Match": "*"], 304), (["If-None-Match": "\"x\""], 200),
                (["If-None-Match": "\"x\"", "If-Modified-Since": date], 200), (["If-Modified-Since": date], 304),
                (["If-Modified-Since": old], 200), (["If-Match": "\"x\""], 412), (["If-Match": tag], 200),
                (["If-Unmodified-Since": old], 412), (["If-Unmodified-Since": date], 200),
                (["Range": "bytes=0-9", "If-Range": tag], 206), (["Range": "bytes=0-9", "If-Range": date], 206),
                (["Range": "bytes=0-9", "If-Range": "\"x\""], 200), (["Range": "bytes=0-9", "If-Range": old], 200),
                (["Range": "bytes=0-9", "If-Range": "W/\(tag)"], 200),
            ]
            for (fields, status) in cases {
                let answer = try await client.get(path, fields)
                #expect(answer.status == status, "\(fields)")
                if status == 304 || status == 412 { #expect(answer.body.isEmpty) }
                if status == 304 { #expect(answer["ETag"] == tag) }
            }
        }
    }

    @Test("Preflight requests of browser-based receivers are answered")
    func preflight() async throws {
        try await serving { _, client, path, _ in
            let answer = try await client.get(
                path, method: "OPTIONS",
                [
                    "Origin": "https://www.gstatic.com", "Access-Control-Request-Method": "GET",
                    "Access-Control-Request-Headers": "range", "Access-Control-Request-Private-Network": "true",
                ])
            #expect(answer.status == 204)
            #expect(answer["Access-Control-Allow-Origin"] == "*")
            #expect(answer["Access-Control-Allow-Methods"]?.contains("GET") == true)
            #expect(answer["Access-Control-Allow-Headers"]?.contains("Range") == true)
            #expect(answer["Access-Control-Allow-Private-Network"] == "true")
            #expect(try await client.get(path, method: "POST").status == 405)
        }
    }

    @Test("Only what was published is served, whatever the path says; withdrawn is unknown")
    func scope() async throws {
        try await serving { media, client, path, published in
            let token = published.token.rawValue
            let wrong = String(token.dropLast()) + (token.hasSuffix("0") ? "1" : "0")
            for other in [
                "/", "/media", "/media/", "/media/\(wrong)/x", "/media/../../etc/passwd", "/media/%2e%2e/passwd",
                "/media/\(token)", "/media/\(token)/x/y", "/art/\(token)/cover", "/etc/passwd", "//etc/passwd",
            ] {
                let answer = try await client.get(other)
                #expect(answer.status == 404, "\(other)")
            }
            let named = try await client.get("/media/\(token)/%2e%2e%2fetc%2fpasswd")
            #expect(named.body == bytes, "names mean nothing")
            await media.withdraw([published.token])
            let withdrawn = try await client.get(path)
            #expect(withdrawn.status == 404)
            #expect(await media.fetches(of: published.token) == nil)
        }
    }

    @Test("A receiver's neighbours and this machine are served, strangers are not")
    func neighbours() async throws {
        let registry = PublishedRegistry()
        await registry.publish(
            .file(path: path, contentType: "audio/flac"), as: PublishedPart(token: "t", target: .media),
            to: NetworkAddress("198.51.100.20"))
        func served(_ address: String) async -> Bool {
            if case .found = await registry.answer(PublishedPart(token: "t", target: .media), to: address) {
                return true
            }
            return false
        }
        #expect(await served("198.51.100.20"))
        #expect(await served("198.51.100.7"))
        #expect(await served("::ffff:198.51.100.7"))
        #expect(await served("127.0.0.1"))
        #expect(await served("::1"))
        #expect(await !served("198.51.101.20"))
        #expect(await !served("2001:db8::1"))
        #expect(await !served(""))
        await registry.publish(
            .file(path: path, contentType: "audio/flac"), as: PublishedPart(token: "t", target: .media),
            to: NetworkAddress("2001:db8::9"))
        #expect(await served("2001:db8::1"), "a second receiver is added")
        #expect(await served("198.51.100.20"), "and the first stays")
    }

    @Test("A file that changes while it is served has another tag; one that was cut ends the connection")
    func changed() async throws {
        try await serving { _, client, path, _ in
            let before = try await client.get(path, method: "HEAD")
            let file = URL(fileURLWithPath: self.path)
            try (Data(bytes) + Data([0])).write(to: file)
            let after = try await client.get(path, ["Range": "bytes=0-9", "If-Range": before["ETag"]!])
            #expect(after.status == 200, "not the bytes of another file")
            #expect(after.body.count == bytes.count + 1)
            #expect(after["ETag"] != before["ETag"])
            // 64 MiB of nothing, cut when the first bytes have come.
            let large = folder("It's “a” song.flac")
            #expect(truncate(large, 64 << 20) == 0)
            let socket = try client.connected()
            defer { close(socket) }
            let request = Array("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
            #expect(send(socket, request, request.count, 0) == request.count)
            let total = await client.drained(socket) { _ = truncate(large, 1000) }
            #expect(total < 64 << 20)
            try FileManager.default.removeItem(atPath: large)
            #expect(try await client.get(path).status == 410)
        }
    }

    @Test("Hostile heads are refused", arguments: ["long", "many", "garbage", "version"])
    func hostile(kind: String) async throws {
        let request: String =
            switch kind {
            case "long": "GET / HTTP/1.1\r\nX: \(String(repeating: "a", count: 100_000))\r\n\r\n"
            case "many":
                "GET / HTTP/1.1\r\n" + (0..<5000).map { "X\($0): y\r\n" }.joined() + "\r\n"
            case "garbage": "\u{1}\u{2}\u{3}\r\n\r\n"
            default: "GET / FTP/9.9\r\n\r\n"
            }
        try await serving { _, client, path, _ in
            let answer = try? client.parse(try await client.exchange(Array(request.utf8)))
            #expect(answer == nil || (400..<500).contains(answer!.status))
            let next = try await client.get(path, ["Range": "bytes=0-9"])
            #expect(next.status == 206, "others are served on")
        }
    }

    @Test("A head that does not end closes the connection in time")
    func slow() async throws {
        try await serving(MediaConfiguration(serverPort: 0, requestSeconds: 1)) { _, client, _, _ in
            let answer = try await client.exchange(Array("GET / HTTP/1.1\r\nHost".utf8))
            #expect(answer.isEmpty)
        }
    }

    @Test("A client that takes nothing is given up, by the host's clock")
    func stalled() async throws {
        let clock = ManualClock()
        let server = MediaServer(
            configuration: MediaConfiguration(serverPort: 0, stallSeconds: 60), clock: clock, logger: quietLogger(),
            sources: .none)
        #expect(truncate(path, 256 << 20) == 0)
        await server.registry.publish(
            .file(path: path, contentType: "audio/flac"), as: PublishedPart(token: "t", target: .media),
            to: NetworkAddress("127.0.0.1"))
        let client = RawHTTPClient(port: try await server.port())
        let socket = try client.connected()
        defer { close(socket) }
        let request = Array("GET /media/t/x HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
        #expect(send(socket, request, request.count, 0) == request.count)
        #expect(await eventually { await server.registry.record("t")?.bytes ?? 0 > 0 })
        // It sends until the buffers are full, and stays there: the second turn without a byte ends it.
        #expect(
            await eventually {
                clock.advance(seconds: 60)
                return await server.answersInProgress == 0
            })
        let total = await client.drained(socket)
        #expect(total < 256 << 20)
        await server.stop()
    }

    @Test("Many clients at once each get their own bytes")
    func many() async throws {
        try await serving { _, client, path, _ in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<32 {
                    group.addTask {
                        let start = index * 1000
                        let answer = try await client.get(path, ["Range": "bytes=\(start)-"])
                        return answer.status == 206 && answer.body == Array(bytes[start...])
                    }
                }
                for try await same in group { #expect(same) }
            }
        }
    }

    @Test("A busy port is passed over, and stop frees ours at once, with clients in the middle")
    func ports() async throws {
        let first = library()
        let item = QueueItem(id: ItemID(rawValue: "1"), source: .file(path: path))
        let needs = PullRequirements(receiverAddress: "127.0.0.1")
        let one = try await first.publish(item, token: .random(), for: needs)
        let port = try #require(URL(string: one.url)?.port)
        let second = library(MediaConfiguration(serverPort: port))
        let two = try await second.publish(item, token: .random(), for: needs)
        #expect(URL(string: two.url)?.port ?? 0 > port)
        let client = RawHTTPClient(port: port)
        let idle = try client.connected()
        defer { close(idle) }
        // In the middle of a long answer that it does not take.
        #expect(truncate(path, 64 << 20) == 0)
        let busy = try client.connected()
        defer { close(busy) }
        let request = Array("GET \(URL(string: one.url)!.path) HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
        #expect(send(busy, request, request.count, 0) == request.count)
        #expect(await eventually { await first.fetches(of: one.token)?.bytes ?? 0 > 0 })
        await first.stop()
        #expect(await client.drained(busy) < 64 << 20)
        await second.stop()
        let third = library(MediaConfiguration(serverPort: port))
        let three = try await third.publish(item, token: .random(), for: needs)
        #expect(URL(string: three.url)?.port == port)
        await third.stop()
        await #expect(throws: RouterError.self) { try await third.publish(item, token: .random(), for: needs) }
    }

    @Test("C9 the picture inside a file is served beside it")
    func artwork() async throws {
        let picture = folder("p.png")
        try await Tools.ffmpeg(["-f", "lavfi", "-i", "color=red:size=64x64", "-frames:v", "1", picture])
        let song = folder("with.mp3")
        try await Tools.ffmpeg([
            "-i", path, "-i", picture, "-map", "0:a", "-map", "1:v", "-c:v", "copy", "-disposition:v", "attached_pic",
            song,
        ])
        let media = library()
        let published = try await media.publish(
            QueueItem(id: ItemID(rawValue: "1"), source: .file(path: song)), token: .random(),
            for: PullRequirements(receiverAddress: "127.0.0.1"))
        let image = try #require(published.metadata.images.first)
        let url = try #require(URL(string: image.url))
        let answer = try await RawHTTPClient(port: url.port!).get(url.path)
        #expect(answer.status == 200)
        #expect(answer["Content-Type"] == "image/png")
        #expect(answer.body == [UInt8](try Data(contentsOf: URL(fileURLWithPath: picture))))
        #expect(answer["Access-Control-Allow-Origin"] == "*")
        await media.stop()
    }

    @Test("A type that the receiver does not play is refused before anything is sent")
    func unsupported() async throws {
        let media = library()
        let item = QueueItem(id: ItemID(rawValue: "1"), source: .file(path: path))
        let error = await #expect(throws: RouterError.self) {
            try await media.publish(
                item, token: .random(),
                for: PullRequirements(receiverAddress: "127.0.0.1", contentTypes: ["audio/mpeg3", "video/mp4"]))
        }
        #expect(error?.code == .mediaUnsupported)
        let old = PullRequirements(receiverAddress: "127.0.0.1", contentTypes: ["audio/x-flac"])
        #expect(try await media.publish(item, token: .random(), for: old).contentType == "audio/flac")
        await media.stop()
    }

    @Test("An address is handed over as it is")
    func address() async throws {
        let origin = library()
        let one = try await origin.publish(
            QueueItem(id: ItemID(rawValue: "1"), source: .file(path: path)), token: .random(),
            for: PullRequirements(receiverAddress: "127.0.0.1"))
        let media = library()
        let two = try await media.publish(
            QueueItem(id: ItemID(rawValue: "2"), source: .url(one.url + "?key=secret")), token: .random(),
            for: PullRequirements(receiverAddress: "127.0.0.1"))
        #expect(two.url == one.url + "?key=secret")
        #expect(two.contentType == "audio/flac")
        #expect(two.metadata.title == "A song")
        #expect(!two.live)
        let named = one.url.replacingOccurrences(of: "127.0.0.1", with: "localhost")
        let three = try await media.publish(
            QueueItem(id: ItemID(rawValue: "3"), source: .url(named)), token: .random(),
            for: PullRequirements(receiverAddress: "127.0.0.1"))
        #expect(three.url == one.url, "a bare name becomes an address")
        let script = FeedScript()
        let feed = try await media.feed(
            FeedItem(item: ItemID(rawValue: "u"), source: .url(one.url)), events: script.feedEvents)
        #expect(try await drain(feed.packets(.l16, from: 0)).count == (44_100 * 3 + 351) / 352)
        #expect(script.errors.isEmpty)
        let gone = await #expect(throws: RouterError.self) {
            try await media.publish(
                QueueItem(
                    id: ItemID(rawValue: "4"), source: .url(one.url.replacingOccurrences(of: "media", with: "no"))),
                token: .random(), for: PullRequirements(receiverAddress: "127.0.0.1"))
        }
        #expect(gone?.code == .mediaNotFound)
        await media.stop()
        await origin.stop()
    }
}
