import SwiftProtobuf

/// The messages inside a frame: `{params: {data}}`, each message after its length (`Protocols/mrp`, “Frames”).
public enum MRPPayload {
    /// Messages in one frame.
    public static let maximumMessages = 256

    public static func encode(_ messages: [MRPProtocolMessage]) -> [UInt8] {
        PropertyList.dictionary(["params": .dictionary(["data": .data(lengthPrefixed(messages))])]).encoded()
    }

    static func lengthPrefixed(_ messages: [MRPProtocolMessage]) -> [UInt8] {
        var data: [UInt8] = []
        for message in messages {
            // Nothing here is required, so that there is nothing to fail.
            guard let bytes: [UInt8] = try? message.serializedBytes() else { continue }
            var length = bytes.count
            while length >= 0x80 {
                data.append(UInt8(length & 0x7F) | 0x80)
                length >>= 7
            }
            data.append(UInt8(length))
            data += bytes
        }
        return data
    }

    /// The messages of a payload; none where it is empty.
    public static func decode(_ payload: [UInt8]) throws(MRPDecodingError) -> [MRPProtocolMessage] {
        guard !payload.isEmpty else { return [] }
        guard let list = try? PropertyList(parsing: payload), case .dictionary = list else { throw .malformedPayload }
        // What carries no messages says something else, which is not for us.
        guard let data = list["params"]?["data"]?.data else { return [] }
        var messages: [MRPProtocolMessage] = []
        var rest = data[...]
        while let first = rest.first {
            guard messages.count < maximumMessages else { throw .tooManyMessages(limit: maximumMessages) }
            // A message begins with its type, field 1: a byte of 8. No message is that short, so that it is no length:
            // the one kind that comes without.
            if first == 0x08 {
                messages.append(try message(rest))
                break
            }
            let length = try length(&rest)
            guard length <= rest.count else { throw .malformedLength }
            messages.append(try message(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return messages
    }

    private static func length(_ rest: inout ArraySlice<UInt8>) throws(MRPDecodingError) -> Int {
        var value = 0
        for shift in stride(from: 0, to: 35, by: 7) {
            guard let byte = rest.popFirst() else { throw .malformedLength }
            value |= Int(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
        }
        throw .malformedLength
    }

    private static func message(_ bytes: ArraySlice<UInt8>) throws(MRPDecodingError) -> MRPProtocolMessage {
        guard let message = try? MRPProtocolMessage(serializedBytes: Array(bytes)), message.hasType else {
            throw .malformedMessage
        }
        return message
    }
}
