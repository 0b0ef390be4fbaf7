import Testing

@testable import AirPlayBackend

@Suite("How early a receiver needs its first packets")
struct AirPlayStartLeadTests {
    @Test("A1 What it adds by itself and a little more, at least the usual")
    func latency() {
        #expect(AirPlayStartLead(model: "AirPort10,115", manufacturer: nil, latency: 250).milliseconds == 350)
        #expect(AirPlayStartLead(model: "AudioAccessory5,1", manufacturer: "Apple Inc.").milliseconds == 350)
        #expect(AirPlayStartLead(model: "AV Receiver", manufacturer: nil, latency: 50).milliseconds == 350)
        #expect(AirPlayStartLead(model: "AV Receiver", manufacturer: nil, latency: 600).milliseconds == 700)
        #expect(AirPlayStartLead(model: "AppleTV11,1", manufacturer: nil, isBuffered: true).milliseconds == 800)
    }

    @Test("A1 shairport-sync, and what does not say who it is, write a second early")
    func secondAhead() {
        #expect(AirPlayStartLead(model: "ShairportSync", manufacturer: nil, latency: 250).milliseconds == 1350)
        #expect(AirPlayStartLead(model: "Shairport Sync", manufacturer: "Shairport").milliseconds == 1350)
        #expect(AirPlayStartLead(model: nil, manufacturer: nil).milliseconds == 1350)
    }

    @Test("A1 Makers whose devices gather first get the whole queue", arguments: ["WiiM Pro", "EDIFIER MS50A"])
    func gatherers(model: String) {
        let lead = AirPlayStartLead(model: model, manufacturer: nil)
        #expect(lead.milliseconds == nil)
        #expect(lead.frames(sampleRate: 44_100, lead: 88_200) == 88_200)
        #expect(AirPlayStartLead(model: "A10", manufacturer: "Linkplay Technology Inc.").milliseconds == nil)
    }

    @Test("A1 Never more than the queue")
    func bounded() {
        let lead = AirPlayStartLead(model: nil, manufacturer: nil)
        #expect(lead.frames(sampleRate: 44_100, lead: 22_050) == 22_050)
        #expect(lead.frames(sampleRate: 48_000, lead: 96_000) == 64_800)
    }
}
