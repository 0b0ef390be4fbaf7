/// What a `_raop._tcp` TXT record says (`Protocols/airplay/README.md`, “Records”).
public struct RAOPAdvertisement: Sendable, Hashable {
    /// `cn`.
    public enum Codec: Int, Sendable, Hashable, CaseIterable { case pcm = 0, appleLossless, aac, aacELD }
    /// `et`.
    public enum EncryptionType: Int, Sendable, Hashable, CaseIterable {
        case none = 0
        case rsa = 1
        case fairPlay = 3
        case mfiSAP = 4
        case fairPlaySAP = 5
    }
    /// `md`.
    public enum MetadataKind: Int, Sendable, Hashable, CaseIterable { case text = 0, artwork, progress }

    public var codecs: Set<Codec>
    public var encryptionTypes: Set<EncryptionType>
    public var metadataKinds: Set<MetadataKind>
    /// `pw`, or the password bit of `sf`.
    public var passwordRequired: Bool
    /// `am`.
    public var model: String?
    /// `fv`, else `vs`.
    public var firmware: String?
    /// `pk`, hex.
    public var publicKey: String?
    public var statusFlags: AirPlayStatusFlags

    /// - Parameters:
    ///   - txt: keys in lower case.
    ///   - stated: a person wrote it, so what is left out isn't known to be lacking: it is then tried.
    public init(txt: [String: String], stated: Bool = false) {
        func numbers(_ key: String) -> [Int]? {
            txt[key].map { $0.split(separator: ",").compactMap { Int($0.trimmed) } }
        }
        codecs = numbers("cn").map { Set($0.compactMap(Codec.init)) } ?? [.pcm, .appleLossless]
        encryptionTypes = numbers("et").map { Set($0.compactMap(EncryptionType.init)) } ?? [.none]
        metadataKinds =
            numbers("md").map { Set($0.compactMap(MetadataKind.init)) }
            ?? (stated ? Set(MetadataKind.allCases) : [])
        statusFlags = AirPlayStatusFlags(text: txt["sf"] ?? txt["flags"] ?? "") ?? []
        let password = txt["pw"]?.lowercased()
        passwordRequired = password == "true" || password == "1" || statusFlags.contains(.passwordRequired)
        model = txt["am"]
        firmware = txt["fv"] ?? txt["vs"]
        publicKey = txt["pk"]
    }

    /// How the audio is hidden: not at all where that is offered; nil where only FairPlay is.
    public var encryption: RAOPEncryptionChoice? {
        if encryptionTypes.contains(.none) || encryptionTypes.isEmpty { return .unencrypted }
        if encryptionTypes.contains(.rsa) { return .rsa }
        return encryptionTypes.contains(.mfiSAP) ? .unencrypted : nil
    }

    /// Without `/auth-setup` such receivers answer ANNOUNCE with 403.
    public var needsAuthSetup: Bool { encryptionTypes.contains(.mfiSAP) }

    /// Apple Lossless where it is taken; nil where neither it nor PCM is.
    public var codec: Codec? {
        if codecs.contains(.appleLossless) { return .appleLossless }
        return codecs.contains(.pcm) ? .pcm : nil
    }

    /// Some Apple devices drop a session that is quiet for a few seconds.
    public var needsFeedback: Bool {
        guard let model else { return false }
        return model.hasPrefix("AudioAccessory") || model.hasPrefix("AppleTV5") || model.hasPrefix("AppleTV6")
            || model.hasPrefix("AppleTV11") || model.hasPrefix("AppleTV14")
    }
}

public enum RAOPEncryptionChoice: Sendable, Hashable { case unencrypted, rsa }
