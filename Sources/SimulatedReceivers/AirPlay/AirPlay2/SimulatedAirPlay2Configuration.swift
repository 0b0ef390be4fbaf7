import AirPlay
import Foundation
import HomeKitPairing

/// What a simulated AirPlay 2 receiver is, and what it does wrong on purpose.
public struct SimulatedAirPlay2Configuration: Sendable {
    /// By which clock a sender may have its sound timed.
    public enum Timing: String, Sendable, CaseIterable {
        /// The sender is the grandmaster; UDP ports 319 and 320 of `host` are needed.
        case ptp
        /// The sender answers questions for its time.
        case ntp
    }

    /// Values of `type` of a stream.
    public enum StreamKind: Int, Sendable, CaseIterable {
        case realtime = 96
        case buffered = 103
        /// Messages both ways, such as those of remote control.
        case data = 130
    }

    /// When RECORD may come.
    public enum RecordOrder: String, Sendable, CaseIterable {
        case any
        /// Before the stream's SETUP; 455 afterwards.
        case before
        /// After it; 455 before.
        case after
        /// Afterwards it is answered, and then nothing is heard: as on some television sets.
        case silentAfter = "silent-after"
    }

    /// The friendly name.
    public var name: String
    /// A numeric address of this machine.
    public var host: String
    /// 0 takes any that is free.
    public var port: Int
    /// 12 hex digits; without one it is derived from the name.
    public var id: String?
    public var timing: Set<Timing>
    public var streams: Set<StreamKind>
    /// Bits of `audioFormat` (`Protocols/airplay/README.md`, “Audio formats”) that a realtime stream may have.
    public var realtimeFormats: UInt64
    /// And those that a buffered one may.
    public var bufferedFormats: UInt64
    /// Whom it lets in; who is known at first is in `controllers`.
    public var pairing: PairingServerPolicy
    public var controllers: [PairingServerBook.Controller] = []
    /// A password that is asked for by a Digest challenge of SETUP, beside pairing.
    public var headerPassword: String?
    public var recordOrder = RecordOrder.any
    /// Takes every buffered packet for what SETUP said, as some receivers do. Else its SSRC has to name the codec, and
    /// packets of another are not heard, whatever is answered: so does shairport-sync.
    public var ignoresCodecWord = false
    /// What it adds to the time of the sender's sync packets, in frames of the stream.
    public var ntpLatencyFrames: Int
    public var ptpLatencyFrames: Int
    /// What is at the end of data streams; without it there are none. A value for each stream.
    public var dataSpeaker: (any SimulatedDataSpeaker)?
    /// Says that it draws what `/command` tells of what plays.
    public var drawsNowPlaying = false
    /// Where PTP is spoken: 319 and 320, but for tests.
    public var ptpPorts = PTPPorts.standard
    /// Bytes of a buffered stream that it takes ahead.
    public var bufferBytes: Int
    /// The volume before anybody sets one, from −30 to 0, or −144 for mute.
    public var initialVolume: Double
    public var model: String
    /// Of a stereo pair (`tsid`) and of a group (`gid`), UUIDs. Written into the records only.
    public var pairID: String?
    public var groupID: String?
    /// What the pair or group is called (`gpn`), and whether this one leads it (`igl`). Written into the records only.
    public var groupName: String?
    public var leadsGroup = false
    /// Where `NAME.wav` and `NAME.ndjson` are written. None are without a folder.
    public var recordingFolder: URL?
    /// What those files are called in place of the name.
    public var recordingName: String?
    /// Buttons that somebody presses, by seconds after RECORD.
    public var buttons: [SimulatedAirPlayButton.Timed] = []
    public var faults: SimulatedAirPlay2Faults

    /// PCM and Apple Lossless of 44.1 and 48 kHz, 16 and 24 bits.
    public static let allRealtimeFormats: UInt64 = 0x3C_0000 | 0x2_A800
    /// AAC-LC of both rates, and Apple Lossless of 44.1 kHz with 16 bits and of 48 kHz with 24.
    public static let allBufferedFormats: UInt64 = 0xC0_0000 | 0x24_0000

    public init(
        name: String = "Simulated AirPlay 2", host: String = "127.0.0.1", port: Int = 7000, id: String? = nil,
        timing: Set<Timing> = Set(Timing.allCases), streams: Set<StreamKind> = Set(StreamKind.allCases),
        realtimeFormats: UInt64 = SimulatedAirPlay2Configuration.allRealtimeFormats,
        bufferedFormats: UInt64 = SimulatedAirPlay2Configuration.allBufferedFormats,
        pairing: PairingServerPolicy = .everybody, ntpLatencyFrames: Int = 11_025, ptpLatencyFrames: Int = 11_035,
        bufferBytes: Int = 8 << 20, initialVolume: Double = -20, model: String = "RouterSimulatedReceiver",
        recordingFolder: URL? = nil, faults: SimulatedAirPlay2Faults = SimulatedAirPlay2Faults()
    ) {
        self.name = name
        self.host = host
        self.port = port
        self.id = id
        self.timing = timing
        self.streams = streams
        self.realtimeFormats = realtimeFormats
        self.bufferedFormats = bufferedFormats
        self.pairing = pairing
        self.ntpLatencyFrames = ntpLatencyFrames
        self.ptpLatencyFrames = ptpLatencyFrames
        self.bufferBytes = bufferBytes
        self.initialVolume = initialVolume
        self.model = model
        self.recordingFolder = recordingFolder
        self.faults = faults
    }

    /// 12 hex digits in upper case, as in the name of the `_raop._tcp` record.
    public var hardwareID: String { SimulatedHardwareID.digits(id, name: name) }

    /// The same with colons: `deviceid`.
    public var deviceID: String {
        stride(from: 0, to: hardwareID.count, by: 2).map { hardwareID.dropFirst($0).prefix(2) }.joined(separator: ":")
    }

    /// As records and `/info` say it (`Protocols/airplay/README.md`, “Feature bits”).
    public var features: AirPlayFeatures {
        // Sound, titles, pictures and progress, PCM, Apple Lossless and AAC, sound in the clear, one port for all.
        var bits = [9, 15, 16, 17, 18, 19, 20, 22, 30, 38, 47]
        if streams.contains(.buffered), timing.contains(.ptp) { bits.append(40) }
        if timing.contains(.ptp) { bits.append(41) }
        if timing.contains(.ntp) { bits.append(45) }
        if pairing.transientRefusal == nil { bits.append(48) }
        bits.append(pairing.legacy == nil ? 46 : 27)
        if drawsNowPlaying { bits.append(50) }
        return AirPlayFeatures(rawValue: bits.reduce(0) { $0 | 1 << UInt64($1) })
    }

    var featureText: String {
        let (low, high) = (features.rawValue & 0xFFFF_FFFF, features.rawValue >> 32)
        return "0x\(String(low, radix: 16, uppercase: true)),0x\(String(high, radix: 16, uppercase: true))"
    }

    /// 0x4 is always there: the cable is in.
    public var statusFlags: Int { pairing.statusFlags | 0x4 | (headerPassword == nil ? 0 : 0x80) }

    var wantsPassword: Bool { pairing.password != nil || headerPassword != nil }

    /// As it is announced under `_airplay._tcp` by its friendly name.
    func airPlayRecord(_ identity: PairingServerBook) -> [String: String] {
        var record = [
            "deviceid": deviceID, "features": featureText, "flags": "0x" + String(statusFlags, radix: 16),
            "model": model, "manufacturer": "router", "serialNumber": hardwareID, "srcvers": "366.0", "osvers": "15.0",
            "protovers": "1.1", "fv": "1.0", "vv": "2", "pk": Self.hex(identity.key.publicKey),
            "pi": identity.identifier, "psi": identity.identifier, "gid": groupID ?? identity.identifier,
            "gcgl": groupID == nil ? "0" : "1", "igl": leadsGroup ? "1" : "0", "rsf": "0x0",
            "acl": pairing.setupRefusal == nil ? "0" : "1",
        ]
        record["tsid"] = pairID
        record["gpn"] = groupName
        record["pw"] = wantsPassword ? "true" : nil
        return record
    }

    /// As it is announced under `_raop._tcp` by its digits, an @ and its name.
    func raopRecord(_ identity: PairingServerBook) -> [String: String] {
        [
            "txtvers": "1", "ch": "2", "sr": "44100", "ss": "16", "cn": "0,1", "et": "0,1", "md": "0,1,2", "tp": "UDP",
            "vn": "65537", "vs": "366.0", "ov": "15.0", "vv": "2", "fv": "1.0", "da": "true", "am": model,
            "sf": "0x" + String(statusFlags, radix: 16), "ft": featureText, "pk": Self.hex(identity.key.publicKey),
            "pw": wantsPassword ? "true" : "false",
        ]
    }

    /// How its clock follows a grandmaster.
    var slave: PTPSlaveConfiguration {
        let manner: PTPSlaveConfiguration.Manner =
            faults.isDeafToPTP ? .deaf : faults.ignoresTiming ? .listening : .asking(timesPerSecond: 1)
        return PTPSlaveConfiguration(host: host, ports: ptpPorts, manner: manner)
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// The hardware address of a simulated AirPlay device.
enum SimulatedHardwareID {
    /// 12 hex digits in upper case: those of `id`, or without one a number that the name gives.
    static func digits(_ id: String?, name: String) -> String {
        if let id { return id.uppercased().filter(\.isHexDigit) }
        // FNV-1a: the same name is the same device at every start.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        // A locally administered address of one station.
        let address = (hash & 0xFCFF_FFFF_FFFF) | 0x0200_0000_0000
        let digits = String(address, radix: 16, uppercase: true)
        return String(repeating: "0", count: 12 - digits.count) + digits
    }
}
