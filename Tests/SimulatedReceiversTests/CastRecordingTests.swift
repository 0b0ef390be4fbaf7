import Foundation
import RouterTestKit
import SimulatedReceivers
import Testing

/// What simulated receivers leave on disk.
@Suite struct CastRecordingTests {
    private func number(_ data: Data, at offset: Int) -> Int {
        (0..<4).reduce(0) { $0 | Int(data[offset + $1]) << (8 * $1) }
    }

    @Test("a WAV recording is whole after every append, and takes no more once it is closed")
    func recorder() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "router-\(UUID().uuidString).wav")
        defer { try? FileManager.default.removeItem(at: url) }
        let recorder = try WAVRecorder(url: url, sampleRate: 44_100, channels: 2)
        var expected: [Int16] = []
        for round in 0..<3 {
            let data = try Data(contentsOf: url)
            #expect(data.count == 44 + expected.count * 2)
            #expect(String(decoding: data.prefix(4), as: UTF8.self) == "RIFF")
            #expect(number(data, at: 4) == data.count - 8 && number(data, at: 40) == data.count - 44)
            #expect(number(data, at: 24) == 44_100 && number(data, at: 28) == 44_100 * 4)
            let samples = (0..<100).map { Int16($0 * 7 - round * 1_000) }
            recorder.append(samples)
            expected += samples
        }
        recorder.close()
        recorder.append([1, 2] as [Int16])
        let data = Array(try Data(contentsOf: url).dropFirst(44))
        let found = stride(from: 0, to: data.count, by: 2).map {
            Int16(bitPattern: UInt16(data[$0]) | UInt16(data[$0 + 1]) << 8)
        }
        #expect(found == expected && recorder.frames == expected.count / 2)
    }

    @Test("a recording that cannot be written says where and why")
    func unwritable() {
        let url = URL(fileURLWithPath: "/nonexistent/x.wav")
        #expect(throws: SimulatedReceiverError.cannotWrite("/nonexistent/x.wav", ENOENT)) {
            try WAVRecorder(url: url, sampleRate: 44_100, channels: 2)
        }
        #expect("\(SimulatedReceiverError.cannotWrite("/x", ENOENT))" == "cannot write /x: No such file or directory")
    }

    @Test("a journal has each event on disk when append returns, one line of JSON each")
    func journal() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "router-\(UUID().uuidString).ndjson")
        defer { try? FileManager.default.removeItem(at: url) }
        let clock = ManualClock(now: 5)
        let journal = try EventJournal(url: url, clock: clock)
        journal.append("load", ["url": "http://x/\n\"y\"", "bytes": 3, "event": "not this"])
        clock.advance(nanoseconds: 7)
        journal.append("stopped")
        let lines = try String(contentsOf: url, encoding: .utf8).split(separator: "\n").map(String.init)
        #expect(
            lines.map { JSONValue(text: $0) } == [
                ["event": "load", "url": "http://x/\n\"y\"", "bytes": 3, "host_ns": 5],
                ["event": "stopped", "host_ns": 12],
            ])
    }

    @Test("JSON is read tolerantly: a field of the wrong type is absent")
    func json() throws {
        let value = try #require(JSONValue(text: #"{"a":1,"b":1.5,"c":"x","d":null,"e":[true],"f":"false","g":2.0}"#))
        #expect(value["a"]?.int == 1 && value["a"]?.double == 1 && value["a"]?.string == nil)
        #expect(value["b"]?.double == 1.5 && value["b"]?.int == nil)
        #expect(value["d"] == nil && value["z"] == nil && value["c"]?["x"] == nil)
        #expect(value["e"]?.array?.first?.bool == true && value["f"]?.bool == nil)
        #expect(value["g"]?.int == 2)
        let truthy = ["a", "c", "e", "f"].map { value[$0]?.isTruthy }
        #expect(truthy == [true, true, true, true])
        #expect(!JSONValue.null.isTruthy && !JSONValue.string("").isTruthy && !JSONValue.integer(0).isTruthy)
        #expect(JSONValue(text: "{") == nil)
        #expect(JSONValue(text: value.text) == value)
    }
}
