/// The answer to `GET /info`: what a receiver says of itself, as far as a sender of audio looks at it.
public struct AirPlay2Info: AirPlay2Message {
    /// A MAC address with colons.
    public var deviceID: String?
    public var name: String?
    public var model: String?
    public var sourceVersion: String?
    public var firmware: String?
    public var features: AirPlayFeatures?
    public var statusFlags: AirPlayStatusFlags?
    /// Its Ed25519 key.
    public var publicKey: [UInt8]?
    /// Its name in pairings.
    public var pairingIdentifier: String?
    /// The AirPlay number: −144 mute, else −30 to 0.
    public var initialVolume: Double?
    public var volumeControlType: Int?
    /// What realtime streams may hold; nil where it isn't said.
    public var realtimeFormats: AudioFormatBits?
    /// What buffered streams may hold; nil where it isn't said.
    public var bufferedFormats: AudioFormatBits?

    public init(deviceID: String? = nil, name: String? = nil) {
        self.deviceID = deviceID
        self.name = name
    }

    /// Lenient: a receiver that writes one of these in a form of its own still plays. What cannot be read is left out.
    public init(_ list: PropertyList) throws(AirPlay2MessageError) {
        guard case .dictionary = list else { throw .wrongShape }
        deviceID = list["deviceID"]?.string ?? list["deviceid"]?.string
        name = list["name"]?.string
        model = list["model"]?.string
        sourceVersion = list["sourceVersion"]?.string
        firmware = list["firmwareBuildDate"]?.string ?? list["fv"]?.string
        features = list["features"]?.integer.map { AirPlayFeatures(rawValue: UInt64(bitPattern: $0)) }
        statusFlags = list["statusFlags"]?.integer.map { AirPlayStatusFlags(rawValue: UInt64(bitPattern: $0)) }
        publicKey = list["pk"]?.data
        pairingIdentifier = list["pi"]?.string
        initialVolume = list["initialVolume"]?.real.flatMap { $0.isFinite ? $0 : nil }
        volumeControlType = list["volumeControlType"]?.integer.flatMap { Int(exactly: $0) }
        realtimeFormats = Self.formats(list["supportedFormats"]?["audioStream"])
        bufferedFormats = Self.formats(list["supportedFormats"]?["bufferStream"])
    }

    public var propertyList: PropertyList {
        var builder = PropertyListBuilder()
        builder.set("deviceID", deviceID)
        builder.set("name", name)
        builder.set("model", model)
        builder.set("sourceVersion", sourceVersion)
        builder.set("fv", firmware)
        builder.set("features", bits: features?.rawValue)
        builder.set("statusFlags", bits: statusFlags?.rawValue)
        builder.set("pk", publicKey)
        builder.set("pi", pairingIdentifier)
        builder.set("initialVolume", initialVolume)
        builder.set("volumeControlType", volumeControlType)
        var formats = PropertyListBuilder()
        formats.set("audioStream", bits: realtimeFormats?.rawValue)
        formats.set("bufferStream", bits: bufferedFormats?.rawValue)
        if !formats.items.isEmpty { builder["supportedFormats"] = formats.list }
        return builder.list
    }

    private static func formats(_ list: PropertyList?) -> AudioFormatBits? {
        list?.integer.map { AudioFormatBits(rawValue: UInt64(bitPattern: $0)) }
    }
}
