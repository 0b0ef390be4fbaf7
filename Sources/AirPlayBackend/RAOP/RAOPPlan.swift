import AirPlay
import RouteBackend
import RouteModel

/// How a session on this endpoint is to be made.
struct RAOPPlan: Sendable {
    var advertisement: RAOPAdvertisement
    var codec: AudioPacketFormat.Codec
    var encryption: RAOPEncryptionChoice
    /// Frames from sending to hearing, including what the device adds.
    var leadFrames: Int
    private let isLeadStated: Bool
    private let manufacturer: String?

    static let sampleRate = 44_100
    static let framesPerPacket = 352

    /// Throws `unsupported` or `configuration`.
    init(endpoint: Endpoint) throws {
        advertisement = RAOPAdvertisement(txt: endpoint.facts, stated: endpoint.origin == .stated)
        guard let encryption = advertisement.encryption else {
            throw RouterError(
                .unsupported,
                "\(endpoint.name) takes only audio protected by FairPlay, which only Apple's devices make",
                hint: "Use Google Cast where the device has it", scope: .route)
        }
        guard let codec = advertisement.codec else {
            throw RouterError(
                .unsupported, "\(endpoint.name) takes neither Apple Lossless nor PCM",
                hint: "Use Google Cast where the device has it", scope: .route)
        }
        self.encryption = encryption
        self.codec = codec == .appleLossless ? .alac : .l16
        leadFrames = try Self.lead(endpoint)
        isLeadStated = endpoint.facts["latency"] != nil
        manufacturer = endpoint.facts["manufacturer"]
    }

    var format: AudioPacketFormat {
        AudioPacketFormat(
            codec: codec, sampleRate: Self.sampleRate, channels: 2, framesPerPacket: Self.framesPerPacket)
    }

    /// - Parameter audioLatency: frames that the device adds by itself.
    func stream(audioLatency: Int) -> AirPlayStreamPlan {
        AirPlayStreamPlan(
            format: format, leadFrames: leadFrames, startFrames: startFrames(audioLatency),
            metadataKinds: advertisement.metadataKinds,
            feedback: advertisement.needsFeedback)
    }

    var codecDescription: RAOPSessionDescription.Codec {
        codec == .alac ? .appleLossless(.init()) : .l16(sampleRate: Self.sampleRate, channels: 2)
    }

    /// Frames that the first packets of a run need; all where a person said how many.
    private func startFrames(_ audioLatency: Int) -> Int {
        guard !isLeadStated else { return leadFrames }
        return AirPlayStartLead(
            model: advertisement.model, manufacturer: manufacturer, latency: audioLatency * 1000 / Self.sampleRate
        ).frames(sampleRate: Self.sampleRate, lead: leadFrames)
    }

    /// Two seconds, as iTunes has: enough to ask for lost packets again.
    private static func lead(_ endpoint: Endpoint) throws -> Int {
        guard let text = endpoint.facts["latency"] else { return 2 * sampleRate }
        guard let milliseconds = Int(text), (500...8000).contains(milliseconds) else {
            throw RouterError(
                .configuration, "the latency of \(endpoint.name) is “\(text)”, and must be 500 to 8000 milliseconds",
                hint: "Leave it out for the usual 2000", scope: .route)
        }
        return milliseconds * sampleRate / 1000
    }
}
