import RouteModel
import Testing

@Suite("Ids")
struct IdentifierTests {
    @Test("random ids have their prefix and do not repeat")
    func random() {
        #expect(Set((0..<1000).map { _ in RouteID.random() }).count == 1000)
        #expect(RouteID.random().rawValue.wholeMatch(of: /rt-[0-9a-f]{12}/) != nil)
        #expect(SessionID.random().rawValue.wholeMatch(of: /se-[0-9a-f]{12}/) != nil)
        #expect(CommandID.random().rawValue.wholeMatch(of: /co-[0-9a-f]{12}/) != nil)
    }

    @Test("C10 item ids are ULIDs: they sort by time, and two of one instant differ")
    func ulid() {
        let early = ItemID.ulid(milliseconds: 0)
        #expect(early.rawValue.hasPrefix("0000000000"))
        #expect(early.rawValue.wholeMatch(of: /[0-9A-HJKMNP-TV-Z]{26}/) != nil)
        // Vector: the greatest time that 48 bits hold, and 1469918176385 of the ULID specification.
        #expect(ItemID.ulid(milliseconds: (1 << 48) - 1).rawValue.hasPrefix("7ZZZZZZZZZ"))
        #expect(ItemID.ulid(milliseconds: 1_469_918_176_385).rawValue.hasPrefix("01ARYZ6S41"))
        #expect(ItemID.ulid(milliseconds: 1) != ItemID.ulid(milliseconds: 1))
        for _ in 0..<100 {
            let time = UInt64.random(in: 0..<(1 << 47))
            #expect(ItemID.ulid(milliseconds: time) < ItemID.ulid(milliseconds: time + 1))
        }
    }

    @Test("a media token has 128 bits and is not shown by printing it")
    func token() {
        let token = MediaToken.random()
        #expect(token.rawValue.wholeMatch(of: /[0-9a-f]{32}/) != nil)
        #expect(!"\(token)".contains(token.rawValue))
        #expect(!String(describing: [token]).contains(token.rawValue))
    }

    @Test("strong keys are compared without regard to case")
    func strongKeys() {
        #expect(StrongKey(.mac, "AABB") == StrongKey(.mac, "aabb"))
        #expect(StrongKey(.mac, "aabb") != StrongKey(.castID, "aabb"))
    }

    @Test("a URL's query, which may hold a key, is not part of its label")
    func labels() {
        #expect(MediaSource.url("http://h/a.mp3?token=secret").label == "http://h/a.mp3")
        #expect(MediaSource.file(path: "/music/a b.flac").label == "a b.flac")
        let item = QueueItem(id: ItemID(rawValue: "1"), source: .url("http://h/a?k=secret"))
        #expect(item.title == "http://h/a")
    }

    @Test("an IPv6 address is bracketed beside a port")
    func addresses() {
        func address(_ host: String) -> String {
            Endpoint(id: EndpointID(rawValue: "e"), protocol: .cast, name: "", host: host, port: 8009, origin: .stated)
                .address
        }
        #expect(address("fe80::1") == "[fe80::1]:8009")
        #expect(address("10.0.0.2") == "10.0.0.2:8009")
    }

    @Test("--via names families")
    func families() {
        #expect(RouteProtocol.allCases.filter { $0.family == .airplay } == [.raop, .airplay2, .airplayVideo])
        #expect(RouteProtocol.allCases.filter { $0.family == .cast } == [.cast, .castStreaming])
        #expect(ViaPreference.auto.family == nil)
        #expect(ViaPreference.cast.family == .cast)
    }

    @Test("C9 metadata of the item wins over the source's, and gaps are filled")
    func metadata() {
        let item = MediaMetadata(title: "Mine", images: [])
        let source = MediaMetadata(
            kind: .music, title: "Theirs", artist: "A", trackNumber: 3, images: [MediaImage(url: "u")])
        let filled = item.filled(from: source)
        #expect(filled.kind == .music)
        #expect(filled.title == "Mine")
        #expect(filled.artist == "A" && filled.trackNumber == 3 && filled.images == source.images)
        #expect(source.filled(from: item) == source)
    }
}
