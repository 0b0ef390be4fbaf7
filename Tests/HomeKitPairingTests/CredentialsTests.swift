import Foundation
import Testing

@testable import HomeKitPairing

@Suite("R6 credentials")
struct CredentialsTests {
    private let identity = ControllerIdentity(
        identifier: "5D7F7A4C-1B0E-4A77-9C33-0A1B2C3D4E5F",
        signingKey: SigningKey(seed: [UInt8](repeating: 200, count: 32)))

    private var homeKit: HomeKitCredentials {
        HomeKitCredentials(
            controller: identity, accessoryIdentifier: Array("AA:BB".utf8),
            accessoryKey: [UInt8](repeating: 9, count: 32))
    }

    @Test("what is kept comes back, as bytes and as JSON")
    func roundTrip() throws {
        #expect(try HomeKitCredentials(parsing: homeKit.encoded()) == homeKit)
        let json = try JSONEncoder().encode(homeKit)
        #expect(try JSONDecoder().decode(HomeKitCredentials.self, from: json) == homeKit)
        for key in [nil, [UInt8](repeating: 4, count: 32)] {
            let legacy = LegacyCredentials(controller: identity.legacy, accessoryKey: key)
            #expect(try LegacyCredentials(parsing: legacy.encoded()) == legacy)
            let json = try JSONEncoder().encode(legacy)
            #expect(try JSONDecoder().decode(LegacyCredentials.self, from: json) == legacy)
        }
    }

    @Test("what is cut off, changed in length, of the other form, or nothing")
    func malformed() throws {
        let whole = homeKit.encoded()
        for count in 0..<whole.count {
            #expect(throws: CredentialsError.self) { try HomeKitCredentials(parsing: Array(whole.prefix(count))) }
        }
        #expect(throws: CredentialsError.otherForm) { try LegacyCredentials(parsing: whole) }
        for tag in [TLV8.Tag.storedController, .storedSeed, .storedAccessory, .storedAccessoryKey] {
            var items = try TLV8(parsing: whole)
            items.items.removeAll { $0.tag == tag }
            #expect(throws: CredentialsError.malformed) { try HomeKitCredentials(parsing: items.encoded()) }
            items.items.append(.init(tag, []))
            #expect(throws: CredentialsError.malformed) { try HomeKitCredentials(parsing: items.encoded()) }
        }
        var invalidName = try TLV8(parsing: whole)
        invalidName.items.removeAll { $0.tag == .storedController }
        invalidName.items.append(.init(.storedController, [0xFF, 0xFE]))
        #expect(throws: CredentialsError.malformed) { try HomeKitCredentials(parsing: invalidName.encoded()) }
    }

    @Test("printing them gives a mask")
    func masks() throws {
        var printed = "\(homeKit) \(identity) \(LegacyCredentials(controller: identity, accessoryKey: nil))"
        dump(homeKit, to: &printed)
        dump(identity, to: &printed)
        dump(LegacyCredentials(controller: identity, accessoryKey: nil), to: &printed)
        dump(PairVerifyM1(homeKit), to: &printed)
        dump(ExchangeKey.random(), to: &printed)
        #expect(!printed.contains("200"))
        #expect(printed.contains("••••"))
    }
}
