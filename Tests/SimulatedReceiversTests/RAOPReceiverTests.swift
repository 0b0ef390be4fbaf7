import AirPlay
import COpenSSL
import Foundation
import RouterTestKit
import Testing

@testable import SimulatedReceivers

/// Over real sockets on the loopback interface, by a sender made of codecs.
@Suite("RAOP receiver on a socket")
struct RAOPReceiverTests {
    /// Runs a receiver with a folder of its own, and takes both away.
    func receiving(
        _ change: (inout SimulatedRAOPConfiguration) -> Void = { _ in },
        _ body: (SimulatedRAOPReceiver, _ port: Int, _ folder: URL) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "raop-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = SimulatedRAOPConfiguration(
            name: "Küche/1", port: 0, latencyFrames: 0, recordingFolder: folder)
        change(&configuration)
        let receiver = SimulatedRAOPReceiver(configuration)
        let port = try await receiver.start()
        do {
            try await body(receiver, port, folder)
        } catch {
            await receiver.stop()
            throw error
        }
        await receiver.stop()
    }

    func recording(_ folder: URL) throws -> [Int16] {
        let data = try Data(contentsOf: folder.appending(path: "Küche-1.wav"))
        #expect(data.prefix(4) == Data("RIFF".utf8))
        return data.dropFirst(44).withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }.map {
            Int16(littleEndian: $0)
        }
    }

    func journal(_ folder: URL) throws -> [JSONValue] {
        try String(contentsOf: folder.appending(path: "Küche-1.ndjson"), encoding: .utf8)
            .split(separator: "\n").map { try #require(JSONValue(text: String($0))) }
    }

    /// Noise that is the same each time: nothing that a decoder could get right by luck.
    static func noise(packet index: Int) -> [Int16] {
        var state = UInt32(truncatingIfNeeded: index &* 7919 &+ 1)
        return (0..<704).map { _ in
            state = state &* 1_664_525 &+ 1_013_904_223
            return Int16(truncatingIfNeeded: Int32(state >> 16))
        }
    }

    let packets = 60

    var whole: [Int16] { (0..<packets).flatMap { Self.noise(packet: $0) } }

    /// Sends all packets at once, to be heard 0.8 s from now.
    func sendAll(
        _ sender: RAOPTestSender, losing lost: Set<Int> = [], payload: ([Int16]) -> [UInt8]
    ) async throws {
        try await sender.sync(rtpTime: 5000, delay: .milliseconds(800))
        for index in 0..<packets {
            try await sender.packet(
                UInt16(index), rtpTime: UInt32(5000 + index * 352), payload: payload(Self.noise(packet: index)),
                first: index == 0, loses: lost.contains(index))
        }
    }

    @Test("A1 L16 is heard bit for bit, its journal says when, and the sender's clock was asked")
    func pcm() async throws {
        try await receiving { receiver, port, folder in
            try await sending(to: port) { sender in
                #expect(try await sender.ask("OPTIONS", uri: "*").status == 200)
                #expect(try await sender.begin(rtpTime: 5000) == 200)
                #expect(await eventually { await receiver.record().timingExchanges > 0 })
                try await sendAll(sender, payload: RAOPTestPayload.l16)
                #expect(await eventually { await receiver.record().renderedFrames == packets * 352 })
                #expect(try await sender.ask("TEARDOWN").status == 200)
            }
            #expect(try same(recording(folder), whole))
            let record = await receiver.record()
            #expect(record.requests == ["OPTIONS", "ANNOUNCE", "SETUP", "RECORD", "TEARDOWN"])
            #expect(record.announcements == [.init(codec: .pcm, isEncrypted: false)])
            #expect(record.lostPackets == 0 && record.lostFrames == 0 && record.firstSyncPackets == 1)
            let clockLines = try journal(folder).filter { $0["event"]?.string == "clock" }
            #expect(clockLines.first?["frame"]?.int == 0)
            #expect(clockLines.first?["rtp"]?.int == 5000)
            let mark = try #require(record.clockMarks.first)
            #expect(clockLines.first?["heard_ns"]?.int == Int(mark.hostNanoseconds))
            let sound = try journal(folder).first { $0["event"]?.string == "sound" }
            let told = try #require(sound?["host_ns"]?.int)
            #expect(told >= Int(mark.hostNanoseconds), "told when it was heard, not before")
        }
    }

    @Test("A1 Apple Lossless under a key that is wrapped for this receiver is heard bit for bit")
    func encryptedLossless() async throws {
        try await receiving {
            $0.encryption = [.rsa]
        } _: { receiver, port, folder in
            let modulus = try #require(await receiver.rsaModulus)
            #expect(modulus.count == 256)
            let key = [UInt8](1...16)
            let vector = [UInt8](101...116)
            let encryption = RAOPSessionDescription.RSAEncryption(
                encryptedKey: try wrap(key, modulus: modulus), initialVector: vector)
            try await sending(to: port) { sender in
                let status = try await sender.begin(
                    .appleLossless(.init()), encryption: encryption, rtpTime: 5000)
                #expect(status == 200)
                try await sendAll(sender) {
                    encrypt(RAOPTestPayload.uncompressedLossless($0), key: key, vector: vector)
                }
                #expect(await eventually { await receiver.record().renderedFrames == packets * 352 })
            }
            #expect(try same(recording(folder), whole))
            #expect(await receiver.record().announcements == [.init(codec: .appleLossless, isEncrypted: true)])
        }
    }

    @Test("A1 A key that was wrapped for somebody else is refused")
    func foreignKey() async throws {
        try await receiving {
            $0.encryption = [.none, .rsa]
        } _: { receiver, port, _ in
            let stranger = try RAOPServerKey()
            let encryption = RAOPSessionDescription.RSAEncryption(
                encryptedKey: try wrap([UInt8](1...16), modulus: stranger.modulus),
                initialVector: [UInt8](repeating: 0, count: 16))
            try await sending(to: port) { sender in
                let status = try await sender.begin(.appleLossless(.init()), encryption: encryption)
                #expect(status == 406)
            }
            #expect(await receiver.record().announcements.isEmpty)
        }
    }

    @Test("A1 The answer to Apple-Challenge is signed over challenge, address and hardware address")
    func appleChallenge() async throws {
        try await receiving {
            $0.encryption = [.rsa]
            $0.id = "0011AABBCCDD"
        } _: { receiver, port, _ in
            let modulus = try #require(await receiver.rsaModulus)
            try await sending(to: port) { sender in
                let challenge = [UInt8](200...215)
                let answer = try await sender.ask(
                    "OPTIONS", uri: "*", ["Apple-Challenge": Base64.withoutPadding(challenge)])
                let signature = try #require(answer.headers["Apple-Response"].flatMap { Base64.decode($0) })
                let message = try #require(try recover(signature, modulus: modulus))
                #expect(
                    message == challenge + [127, 0, 0, 1, 0x00, 0x11, 0xAA, 0xBB, 0xCC, 0xDD]
                        + [UInt8](repeating: 0, count: 6))
            }
        }
    }

    @Test("A1 What gets lost is asked for, and heard")
    func resends() async throws {
        try await receiving { receiver, port, folder in
            let lost: Set<Int> = [0, 7, 8, 9, 30, 58]
            try await sending(to: port) { sender in
                #expect(try await sender.begin(rtpTime: 5000) == 200)
                try await sendAll(sender, losing: lost, payload: RAOPTestPayload.l16)
                #expect(await eventually { await receiver.record().renderedFrames == packets * 352 })
            }
            #expect(try same(recording(folder), whole))
            let record = await receiver.record()
            #expect(record.recoveredPackets == lost.count)
            #expect(record.resendRequests > 0)
            #expect(record.audioPackets == packets - lost.count)
            #expect(record.lostPackets == 0)
        }
    }

    @Test("R8 The loss fault drops a share, chosen by its seed; without asking again it is silence")
    func lossFault() async throws {
        var counts: [Int] = []
        for _ in 0..<2 {
            try await receiving {
                $0.faults.dropAudio = 0.2
                $0.faults.seed = 3
                $0.faults.ignoresGaps = true
            } _: { receiver, port, folder in
                try await sending(to: port) { sender in
                    #expect(try await sender.begin(rtpTime: 5000) == 200)
                    try await sendAll(sender, payload: RAOPTestPayload.l16)
                    #expect(await eventually { await receiver.record().renderedFrames >= packets * 352 - 1056 })
                }
                let record = await receiver.record()
                #expect(record.droppedPackets > 0)
                #expect(record.audioPackets == packets - record.droppedPackets)
                #expect(record.lostFrames > 0)
                let heard = try recording(folder)
                #expect(heard.count / 704 >= packets - 3)
                let silent = (0..<(heard.count / 704)).count { index in
                    heard[(index * 704)..<((index + 1) * 704)].allSatisfy { $0 == 0 }
                }
                #expect(silent * 352 == record.lostFrames)
                counts.append(record.droppedPackets)
            }
        }
        #expect(counts[0] == counts[1])
    }

    @Test("A1 A flush ends the sound; what comes after it is heard next, without a break in the recording")
    func flush() async throws {
        try await receiving { receiver, port, folder in
            try await sending(to: port) { sender in
                #expect(try await sender.begin(rtpTime: 5000) == 200)
                try await sendAll(sender, payload: RAOPTestPayload.l16)
                #expect(await eventually { await receiver.record().renderedFrames > 2000 })
                let answer = try await sender.ask("FLUSH", ["RTP-Info": "seq=60;rtptime=26120"])
                #expect(answer.status == 200)
                let before = await receiver.record().renderedFrames
                try await sender.sync(rtpTime: 26_120, delay: .milliseconds(300))
                for index in 60..<90 {
                    try await sender.packet(
                        UInt16(index), rtpTime: UInt32(5000 + index * 352),
                        payload: RAOPTestPayload.l16(Self.noise(packet: index)))
                }
                #expect(await eventually { await receiver.record().renderedFrames == before + 30 * 352 })
                let heard = try recording(folder)
                #expect(same(heard.prefix(before * 2), whole.prefix(before * 2)))
                #expect(same(heard.dropFirst(before * 2), (60..<90).flatMap { Self.noise(packet: $0) }))
                #expect(await receiver.record().flushes == [.init(sequence: 60, rtpTime: 26_120)])
                #expect(await receiver.record().clockMarks.contains { $0.frame == before && $0.rtpTime == 26_120 })
            }
        }
    }

    @Test("A1 A password is asked for, the right one taken, and what happens is told as events")
    func password() async throws {
        try await receiving {
            $0.password = "open sesame"
        } _: { receiver, port, _ in
            #expect(receiver.txtRecord["pw"] == "true")
            let events = await receiver.events()
            try await sending(to: port) { sender in
                #expect(try await sender.begin() == 401)
                await sender.setPassword("wrong")
                #expect(try await sender.begin() == 401)
                await sender.setPassword("open sesame")
                #expect(try await sender.begin() == 200)
                let volume = try await sender.ask(
                    "SET_PARAMETER", ["Content-Type": "text/parameters"], body: TextParameters.volume(-7).body)
                #expect(volume.status == 200)
            }
            #expect(await eventually { await receiver.record().teardowns == 0 })
            #expect(await receiver.record().challenges == 2)
            #expect(await receiver.record().volumes == [-7])
            var words: [String] = []
            for await event in events {
                words.append(event.word)
                if event.word == "disconnected" { break }
            }
            #expect(words.first == "connected")
            #expect(words.contains("announce") && words.contains("record") && words.contains("volume"))
        }
    }

    @Test("A1 One sender at a time: another gets 453, until the first has gone")
    func busy() async throws {
        try await receiving { receiver, port, _ in
            try await sending(to: port) { sender in
                #expect(try await sender.begin() == 200)
                try await sending(to: port) { other in
                    let status = try await other.begin()
                    #expect(status == 453)
                }
            }
            try await sending(to: port) { sender in
                let begun = try await eventually { try await sender.begin() == 200 }
                #expect(begun, "the connection's end frees it")
            }
            #expect(await receiver.record().busyAnswers >= 1)
        }
    }

    @Test("R8 Hanging up at request N, and dropping every connection by a verb, are seen as closed connections")
    func hangingUp() async throws {
        try await receiving {
            $0.faults.closesAfterRequests = 3
        } _: { _, port, _ in
            await #expect(throws: RAOPTestSender.Closed.self) {
                try await sending(to: port) { sender in _ = try await sender.begin() }
            }
        }
        try await receiving { receiver, port, _ in
            await #expect(throws: (any Error).self) {
                try await sending(to: port) { sender in
                    #expect(try await sender.begin() == 200)
                    await receiver.dropConnections()
                    for _ in 0..<100 { _ = try await sender.ask("OPTIONS", uri: "*") }
                }
            }
        }
    }

    @Test("A1 Bytes that aren't RTSP end the connection and nothing else")
    func garbage() async throws {
        try await receiving { _, port, _ in
            await #expect(throws: (any Error).self) {
                try await sending(to: port) { sender in
                    _ = try await sender.ask("no method", uri: "\u{1}")
                }
            }
            try await sending(to: port) { sender in
                let status = try await sender.ask("OPTIONS", uri: "*").status
                #expect(status == 200)
            }
        }
    }

    @Test("A1 The name, the hardware id and the TXT record are those of an AirPlay 1 speaker")
    func identity() {
        let receiver = SimulatedRAOPReceiver(
            SimulatedRAOPConfiguration(name: "Bad", id: "0011aabbccdd", encryption: [.none, .rsa]))
        #expect(receiver.serviceName == "0011AABBCCDD@Bad")
        #expect(receiver.txtRecord["et"] == "0,1")
        #expect(receiver.txtRecord["cn"] == "0,1")
        #expect(receiver.txtRecord["md"] == "0,1,2")
        let derived = SimulatedRAOPReceiver(SimulatedRAOPConfiguration(name: "Bad")).serviceName
        #expect(derived.wholeMatch(of: /[0-9A-F]{12}@Bad/) != nil)
        #expect(derived == SimulatedRAOPReceiver(SimulatedRAOPConfiguration(name: "Bad")).serviceName)
        #expect(derived != SimulatedRAOPReceiver(SimulatedRAOPConfiguration(name: "Flur")).serviceName)
    }

    // MARK: A sender's cryptography

    func publicKey(_ modulus: [UInt8]) throws -> OpaquePointer {
        let builder = OSSL_PARAM_BLD_new()
        let n = BN_bin2bn(modulus, Int32(modulus.count), nil)
        let e = BN_new()
        BN_set_word(e, 65_537)
        defer {
            OSSL_PARAM_BLD_free(builder)
            BN_free(n)
            BN_free(e)
        }
        // The builder keeps the pointer to a name, not the name.
        let names = [strdup("n"), strdup("e")]
        defer { for name in names { free(name) } }
        OSSL_PARAM_BLD_push_BN(builder, names[0], n)
        OSSL_PARAM_BLD_push_BN(builder, names[1], e)
        let parameters = OSSL_PARAM_BLD_to_param(builder)
        defer { OSSL_PARAM_free(parameters) }
        let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        EVP_PKEY_fromdata_init(context)
        EVP_PKEY_fromdata(
            context, &key, OSSL_KEYMGMT_SELECT_PUBLIC_KEY | OSSL_KEYMGMT_SELECT_ALL_PARAMETERS, parameters)
        return try #require(key)
    }

    func wrap(_ secret: [UInt8], modulus: [UInt8]) throws -> [UInt8] {
        let key = try publicKey(modulus)
        let context = EVP_PKEY_CTX_new(key, nil)
        defer {
            EVP_PKEY_CTX_free(context)
            EVP_PKEY_free(key)
        }
        var wrapped = [UInt8](repeating: 0, count: 256)
        var count = wrapped.count
        EVP_PKEY_encrypt_init(context)
        EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING)
        #expect(EVP_PKEY_encrypt(context, &wrapped, &count, secret, secret.count) == 1)
        return wrapped
    }

    func recover(_ signature: [UInt8], modulus: [UInt8]) throws -> [UInt8]? {
        let key = try publicKey(modulus)
        let context = EVP_PKEY_CTX_new(key, nil)
        defer {
            EVP_PKEY_CTX_free(context)
            EVP_PKEY_free(key)
        }
        var message = [UInt8](repeating: 0, count: 256)
        var count = message.count
        EVP_PKEY_verify_recover_init(context)
        EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING)
        guard EVP_PKEY_verify_recover(context, &message, &count, signature, signature.count) == 1 else { return nil }
        return Array(message.prefix(count))
    }

    func encrypt(_ payload: [UInt8], key: [UInt8], vector: [UInt8]) -> [UInt8] {
        let whole = payload.count / 16 * 16
        var encrypted = payload
        var count: Int32 = 0
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        EVP_EncryptInit_ex(context, EVP_aes_128_cbc(), nil, key, vector)
        EVP_CIPHER_CTX_set_padding(context, 0)
        EVP_EncryptUpdate(context, &encrypted, &count, payload, Int32(whole))
        return encrypted
    }
}
