import Foundation
import RouteModel
import Testing

@testable import RouterAPI

@Suite("JSON of a request's body")
struct JSONReaderTests {
    @Test("documents are read as they are meant")
    func values() throws {
        let text =
            #" {"a": [1, -0.5, 1e3, 0], "b": {"c": null, "d": true, "e": false}, "f": "\u00e9\ud83d\ude00\n\"\/"} "#
        #expect(
            try JSONReader.read(Array(text.utf8)) == [
                "a": [1, .number(-0.5), 1000, 0], "b": ["c": .null, "d": true, "e": false], "f": "é😀\n\"/",
            ])
    }

    private static let broken: [(name: String, bytes: [UInt8])] = [
        ("nothing", []), ("spaces", Array("  ".utf8)), ("two documents", Array("{} {}".utf8)),
        ("no end", Array(#"{"a": 1"#.utf8)), ("a comma too many", Array("[1,]".utf8)),
        ("a comma too few", Array("[1 2]".utf8)), ("a key that is none", Array("{a: 1}".utf8)),
        ("the same key twice", Array(#"{"a": 1, "a": 2}"#.utf8)), ("no colon", Array(#"{"a" 1}"#.utf8)),
        ("NaN", Array("NaN".utf8)), ("a number that begins with 0", Array("01".utf8)),
        ("half a number", Array("1.".utf8)),
        ("half an exponent", Array("1e".utf8)), ("a plus", Array("+1".utf8)), ("too large", Array("1e999".utf8)),
        ("a string without end", Array("\"abc".utf8)), ("a line break in a string", Array("\"a\nb\"".utf8)),
        ("an escape that is none", Array(#""\x""#.utf8)), ("half an escape", Array(#""\u12"#.utf8)),
        ("a lone surrogate", Array(#""\ud800""#.utf8)),
        ("surrogates in the wrong order", Array(#""\udc00\ud800""#.utf8)),
        ("no UTF-8", [0x22, 0xFF, 0x22]), ("a byte order mark", [0xEF, 0xBB, 0xBF, 0x7B, 0x7D]),
        ("a comment", Array("{} // x".utf8)), ("half a word", Array("tru".utf8)),
        ("deep", Array(repeating: UInt8(ascii: "["), count: 100_000)),
        ("deep objects", Array(String(repeating: #"{"a":"#, count: 50_000).utf8)),
    ]

    @Test("what is no JSON is told with its place", arguments: broken.indices)
    func failures(_ index: Int) {
        let (name, bytes) = Self.broken[index]
        #expect(throws: JSONReader.Failure.self, "\(name)") { try JSONReader.read(bytes) }
    }

    @Test("every beginning of a document ends in an error, and nothing worse")
    func prefixes() {
        let bytes = Array(#"{"a": [1, -0.5e+3, "\u00e9\ud83d\ude00"], "b": {"c": null, "d": true}}"#.utf8)
        for count in 0..<bytes.count {
            #expect(throws: JSONReader.Failure.self) { try JSONReader.read(Array(bytes[..<count])) }
        }
    }
}

@Suite("What a request's body may be")
struct SchemaCheckTests {
    private func problem(_ json: String, of id: OperationID) throws -> String? {
        let operation = try #require(RouteTable.operation(id))
        do {
            switch id {
            case .play: _ = try RequestReader().body(PlayBody.self, of: operation, Array(json.utf8))
            case .performCommand: _ = try RequestReader().body(CommandBody.self, of: operation, Array(json.utf8))
            default: _ = try RequestReader().body(RoomBody.self, of: operation, Array(json.utf8))
            }
            return nil
        } catch let error as RouterError {
            return error.message
        }
    }

    @Test(
        "what is right is let through",
        arguments: [
            #"{}"#, #"{"what": ["a"], "rooms": ["Kitchen"], "volume": 0.5, "rate": 1.5, "repeatMode": "all"}"#,
            #"{"failurePolicy": {"type": "retry", "times": 3}, "start": 5, "shuffle": true}"#,
        ])
    func right(_ json: String) throws { #expect(try problem(json, of: .play) == nil) }

    @Test(
        "what is wrong is told with its place and what could have been meant",
        arguments: [
            (#"{"waht": ["a"]}"#, "the body has an unknown field “waht”; did you mean “what”?"),
            (#"{"what": "a"}"#, "“what” must be an array, not a string"),
            (#"{"what": ["a", 1]}"#, "“what”[1] must be a string, not a number"),
            (#"{"what": [""]}"#, "“what”[0] is empty"),
            (#"{"volume": 1.5}"#, "“volume” must be from 0 to 1"), (#"{"rate": 3}"#, "“rate” must be from 0.5 to 2"),
            (#"{"shuffle": "yes"}"#, "“shuffle” must be true or false, not a string"),
            (
                #"{"repeatMode": "al"}"#,
                "“repeatMode” must be one of off, one, all; did you mean “all”?"
            ),
            (#"{"failurePolicy": {"type": "retry"}}"#, "“failurePolicy” has no “times”"),
            (#"{"volume": null}"#, "“volume” must be a number, not null"),
            (#"[]"#, "the body must be an object, not an array"),
        ])
    func wrong(_ json: String, _ message: String) throws { #expect(try problem(json, of: .play) == message) }

    @Test(
        "C7 a command says its type, and has its own fields and no others",
        arguments: [
            (#"{"command": {"type": "seek", "to": 5}}"#, nil),
            (#"{"command": {"type": "seek"}}"#, "“command” has no “to”"),
            (#"{"command": {"type": "seek", "to": -5}}"#, "“command”.to must be from 0 to 315360000"),
            (#"{"command": {"type": "seek", "to": 1e300}}"#, "“command”.to must be from 0 to"),
            (#"{"command": {"type": "seekBy", "by": -5}}"#, nil),
            (#"{"command": {"type": "stepVolume", "by": -1}}"#, nil),
            (#"{"command": {"type": "stepVolume", "by": 99}}"#, "“command”.by must be from -1 to 1"),
            (#"{"command": {"type": "sek", "to": 5}}"#, "seek"),
            (#"{"command": {"type": "play", "to": 5}}"#, "“command” has an unknown field “to”"),
            (#"{"command": {}}"#, "“command” has no type"), (#"{"command": "play"}"#, "“command” must be an object"),
            (#"{}"#, "the body has no “command”"),
            (
                #"{"command": {"type": "play"}, "origin": "device"}"#,
                "“origin” must be one of cli, api, web, mpris, scene"
            ),
        ] as [(String, String?)])
    func commands(_ json: String, _ part: String?) throws {
        let found = try problem(json, of: .performCommand)
        if let part { #expect(found?.contains(part) == true, "\(found ?? "nothing")") } else { #expect(found == nil) }
    }
}
