extension PairingAnswer {
    /// The items of a message. The device's own reason comes before whatever else is wrong with it; most devices send
    /// it with status 200.
    func items(of message: PairingMessage) throws(PairingError) -> TLV8 {
        switch status {
        case 200..<300: break
        case 401: throw .unauthorized
        case 403: throw .forbidden
        case 470: throw .connectionAuthorizationRequired
        default:
            if case .octets(let bytes) = body, let items = try? TLV8(parsing: bytes) {
                try Self.throwRefusal(in: items, of: message)
            }
            throw .status(status, at: message)
        }
        let bytes: [UInt8]
        switch body {
        case .none: bytes = []
        case .octets(let octets): bytes = octets
        case .dictionary: throw .unreadable(at: message)
        }
        let items = try TLV8(bytes, of: message)
        try Self.throwRefusal(in: items, of: message)
        guard let state = items.byte(.state), state == message.state else {
            throw .wrongState(items.byte(.state), at: message)
        }
        return items
    }

    /// Nothing but that it went well.
    func success(of message: PairingMessage) throws(PairingError) {
        switch status {
        case 200..<300: return
        case 401: throw .unauthorized
        case 403: throw .forbidden
        case 470: throw .connectionAuthorizationRequired
        default: throw .status(status, at: message)
        }
    }

    private static func throwRefusal(in items: TLV8, of message: PairingMessage) throws(PairingError) {
        guard let error = items[.error] else { return }
        guard error.count == 1 else { throw .wrongLength(error.count, at: message) }
        throw .refused(PairingRefusal(code: error[0], retryDelay: items[.retryDelay]), at: message)
    }
}

extension TLV8 {
    init(_ bytes: [UInt8], of message: PairingMessage) throws(PairingError) {
        do { try self.init(parsing: bytes) } catch { throw .malformed(error, at: message) }
    }

    /// The value of an item that has to be there, of a length that it can have.
    func value(
        _ tag: Tag, count: ClosedRange<Int>, of message: PairingMessage
    ) throws(PairingError) -> [UInt8] {
        guard let value = self[tag] else { throw .missing(tag, at: message) }
        guard count.contains(value.count) else { throw .wrongLength(value.count, at: message) }
        return value
    }

    func value(_ tag: Tag, count: Int, of message: PairingMessage) throws(PairingError) -> [UInt8] {
        try value(tag, count: count...count, of: message)
    }
}
