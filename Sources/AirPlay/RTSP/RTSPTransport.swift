/// The `Transport` header of SETUP and its answer (`Protocols/airplay/README.md`, “SETUP”).
public struct RTSPTransport: Sendable, Hashable {
    public var serverPort: Int?
    public var controlPort: Int?
    public var timingPort: Int?
    /// `record`, where it is said.
    public var mode: String?

    public init(serverPort: Int? = nil, controlPort: Int? = nil, timingPort: Int? = nil, mode: String? = "record") {
        self.serverPort = serverPort
        self.controlPort = controlPort
        self.timingPort = timingPort
        self.mode = mode
    }

    /// Reads what is there; unknown parameters are passed over. Ports come as signed 16-bit numbers from some
    /// receivers, so they are taken modulo 65,536.
    public init(parsing text: String) {
        self.init(mode: nil)
        for part in text.split(separator: ";") {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { continue }
            let value = pair[1].trimmed
            switch pair[0].trimmed.lowercased() {
            case "server_port": serverPort = Self.port(value)
            case "control_port": controlPort = Self.port(value)
            case "timing_port": timingPort = Self.port(value)
            case "mode": mode = value
            default: break
            }
        }
    }

    public var text: String {
        var text = "RTP/AVP/UDP;unicast;interleaved=0-1"
        if let mode { text += ";mode=\(mode)" }
        if let controlPort { text += ";control_port=\(controlPort)" }
        if let timingPort { text += ";timing_port=\(timingPort)" }
        if let serverPort { text += ";server_port=\(serverPort)" }
        return text
    }

    private static func port(_ text: String) -> Int? {
        guard let number = Int(text), (-32768...65535).contains(number) else { return nil }
        return number & 0xFFFF
    }
}

/// The `RTP-Info` header: the packet and the frame that something begins with.
public struct RTPInfo: Sendable, Hashable {
    public var sequence: UInt16?
    public var timestamp: UInt32?

    public init(sequence: UInt16? = nil, timestamp: UInt32? = nil) {
        self.sequence = sequence
        self.timestamp = timestamp
    }

    /// Reads what is there.
    public init(parsing text: String) {
        self.init()
        for part in text.split(whereSeparator: { $0 == ";" || $0 == "," }) {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { continue }
            switch pair[0].trimmed.lowercased() {
            case "seq": sequence = UInt16(pair[1].trimmed)
            case "rtptime": timestamp = UInt32(pair[1].trimmed)
            default: break
            }
        }
    }

    public var text: String {
        [sequence.map { "seq=\($0)" }, timestamp.map { "rtptime=\($0)" }].compactMap(\.self).joined(separator: ";")
    }
}

extension StringProtocol {
    /// Without white space at either end.
    var trimmed: String {
        var part = self[...]
        while let first = part.first, first.isWhitespace { part = part.dropFirst() }
        while let last = part.last, last.isWhitespace { part = part.dropLast() }
        return String(part)
    }
}
