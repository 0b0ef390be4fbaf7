import CastV2
import RouteBackend
import RouteModel
import Testing

@testable import CastBackend

@Suite struct CastTransferStateTests {
    private func state(_ text: String, family: RouteFamily = .cast) -> TransferState? {
        TransferState(family: family, bytes: Array(text.utf8))
    }

    @Test("C6 what an app stored comes back as it was, with the app that can read it") func roundTrip() throws {
        let stored = CastStoredSession(json: ["loadRequestData": ["currentTime": 4.5, "media": ["contentId": "ü"]]])
        let value = try #require(CastTransferState(appID: "CC1AD845", stored: stored))
        #expect(CastTransferState(try #require(value.state)) == value)
    }

    @Test(
        "C6 what no app has stored is not resumed",
        arguments: [
            "{", "[]", "null", #"{"app":"CC1AD845"}"#, #"{"app":"CC1AD845","session":[]}"#,
            #"{"app":"CC1AD845","session":{}}"#, #"{"app":"","session":{"a":1}}"#, #"{"session":{"a":1}}"#,
            #"{"app":{},"session":{"a":1}}"#, "\u{0}",
        ])
    func malformed(text: String) throws {
        #expect(CastTransferState(try #require(state(text))) == nil)
    }

    @Test("C6 another backend's, nothing at all, and more than a message holds") func limits() throws {
        #expect(CastTransferState(try #require(state(#"{"app":"A","session":{"a":1}}"#, family: .airplay))) == nil)
        #expect(state("") == nil)
        #expect(TransferState(family: .cast, bytes: Array(repeating: 32, count: TransferState.maximumBytes)) != nil)
        #expect(TransferState(family: .cast, bytes: Array(repeating: 32, count: TransferState.maximumBytes + 1)) == nil)
        let large = CastStoredSession(json: ["a": .string(String(repeating: "x", count: TransferState.maximumBytes))])
        #expect(CastTransferState(appID: "A", stored: large)?.state == nil)
    }
}
