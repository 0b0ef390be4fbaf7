import CastV2
import RouteBackend
import RouteModel

/// How a stream to this endpoint is to be made.
struct CastStreamPlan: Sendable, Hashable {
    static let sampleRate = 48_000
    static let framesPerPacket = 960
    static let bitRate = 192_000
    /// What a packet is ready before it is sent, in nanoseconds: time to decode, encode and queue.
    static let margin: Int64 = 150_000_000
    /// As Chrome's and OwnTone's senders have it, whatever the codec: some receivers take no other.
    static let payloadType: UInt8 = 127
    /// Milliseconds. With less, a packet that is lost cannot be asked for and come again.
    static let delays = 100...5000

    /// Milliseconds from capture to being heard, as it is offered.
    var delay: Int
    /// Only old devices take what is not encrypted, and only they need it.
    var encrypted: Bool

    /// Throws `configuration`.
    init(endpoint: Endpoint) throws {
        delay = CastOfferedStream.defaultTargetDelay
        if let text = endpoint.facts["delay"] {
            guard let milliseconds = Int(text), Self.delays.contains(milliseconds) else {
                throw RouterError(
                    .configuration,
                    "the delay of \(endpoint.name) is “\(text)”, and must be 100 to 5000 milliseconds",
                    hint: "Leave it out for the usual 400", scope: .route)
            }
            delay = milliseconds
        }
        encrypted = endpoint.facts["unencrypted"] != "1"
    }

    var delayNanoseconds: Int64 { Int64(delay) * 1_000_000 }

    var format: AudioPacketFormat {
        AudioPacketFormat(
            codec: .opus, sampleRate: Self.sampleRate, channels: 2, framesPerPacket: Self.framesPerPacket,
            bitRate: Self.bitRate)
    }

    func stream(ssrc: UInt32) -> CastOfferedStream {
        CastOfferedStream(
            index: 0, kind: .audio, codec: "opus", payloadType: Self.payloadType, ssrc: ssrc, targetDelay: delay,
            cipher: encrypted ? .random() : nil, timeBase: Self.sampleRate, channels: 2, bitRate: Self.bitRate)
    }
}

/// The packet of Opus that is 20 ms of stereo silence, for when there is nothing to play.
enum CastStreamSilence {
    static let packet: [UInt8] = [0xFC, 0xFF, 0xFE]
}
