import Foundation
import SwiftProtobuf

/// What can be wrong with the bytes of a CastV2 channel.
public enum CastFramingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A frame of length 0: no message is empty.
    case emptyFrame
    /// A frame that announces more than `CastFraming.maximumBody` bytes. Anything that is not Cast (HTTP, SSH)
    /// looks like this too.
    case frameTooLong(announced: UInt32)
    /// The body is not a `CastMessage`.
    case malformedMessage
    /// A message in several chunks, which is only allowed to somebody who asked for protocol version 1 or 2.
    case chunkedMessage
    /// A message to send whose source, destination or namespace is empty.
    case missingAddress

    public var description: String {
        switch self {
        case .emptyFrame: "a frame of length 0"
        case .frameTooLong(let announced):
            "a frame of \(announced) bytes, more than the \(CastFraming.maximumBody) that are allowed"
        case .malformedMessage: "a frame that is no Cast message"
        case .chunkedMessage: "a message in chunks, which nobody asked for"
        case .missingAddress: "a message without source, destination or namespace"
        }
    }
}

/// The frame: four bytes of big-endian length, then one protobuf `CastMessage` (`Protocols/cast` section 2).
public enum CastFraming {
    /// The longest body, in bytes, that either side may send.
    public static let maximumBody = 65_536
    /// Bytes of the length before the body, which it does not count.
    public static let prefixLength = 4

    /// Whether a message can be sent. Throws `frameTooLong` or `missingAddress`.
    public static func check(_ message: CastMessage) throws(CastFramingError) { _ = try encode(message) }

    /// The frame of one message. Throws `frameTooLong`, or `missingAddress`: a device answers an empty destination with
    /// silence, so that none is ever sent.
    public static func encode(_ message: CastMessage) throws(CastFramingError) -> [UInt8] {
        guard !message.sourceID.isEmpty, !message.destinationID.isEmpty, !message.namespace.isEmpty else {
            throw .missingAddress
        }
        var wire = Router_Cast_CastMessage()
        wire.protocolVersion = .castv210
        wire.sourceID = message.sourceID
        wire.destinationID = message.destinationID
        wire.namespace = message.namespace
        switch message.payload {
        case .text(let text):
            wire.payloadType = .string
            wire.payloadUtf8 = text
        case .binary(let bytes):
            wire.payloadType = .binary
            wire.payloadBinary = Data(bytes)
        }
        // Every required field is set just above, so that serialising cannot fail but by length.
        guard let body: [UInt8] = try? wire.serializedBytes() else { throw .frameTooLong(announced: .max) }
        guard body.count <= maximumBody else { throw .frameTooLong(announced: UInt32(clamping: body.count)) }
        let length = UInt32(body.count)
        var frame: [UInt8] = []
        frame.reserveCapacity(prefixLength + body.count)
        for shift in [24, 16, 8, 0] as [UInt32] { frame.append(UInt8(truncatingIfNeeded: length >> shift)) }
        frame.append(contentsOf: body)
        return frame
    }

    /// Reads one body. Fields that are missing or unknown are let pass; what cannot be read at all is not.
    public static func decode(body: some Sequence<UInt8>) throws(CastFramingError) -> CastMessage {
        let wire: Router_Cast_CastMessage
        do {
            wire = try Router_Cast_CastMessage(serializedBytes: Array(body), partial: true)
        } catch {
            throw .malformedMessage
        }
        guard !wire.continued else { throw .chunkedMessage }
        // Which payload counts is said twice, by the type and by the field that is there. Believe the field.
        let binary = wire.hasPayloadBinary && (wire.payloadType == .binary || !wire.hasPayloadUtf8)
        return CastMessage(
            sourceID: wire.sourceID, destinationID: wire.destinationID, namespace: wire.namespace,
            payload: binary ? .binary(Array(wire.payloadBinary)) : .text(wire.payloadUtf8))
    }
}

/// Cuts a stream of bytes into messages: append what arrived, then take messages until there is none.
///
/// A TLS record may hold a part of a frame or many frames, so the caller drains it after each append. Once the stream is
/// broken it stays so: the same error is thrown again, because where the next frame begins is not known.
public struct CastFrameDecoder: Sendable {
    private var buffer: [UInt8] = []
    private var consumed = 0
    private var broken: CastFramingError?

    public init() {}

    /// Bytes that wait for the rest of their frame.
    public var bufferedBytes: Int { buffer.count - consumed }

    public mutating func append(_ bytes: some Sequence<UInt8>) {
        guard broken == nil else { return }
        if consumed > 0 {
            buffer.removeFirst(consumed)
            consumed = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// The next whole message, or nil until more bytes are there.
    public mutating func next() throws(CastFramingError) -> CastMessage? {
        if let broken { throw broken }
        guard bufferedBytes >= CastFraming.prefixLength else { return nil }
        var length: UInt32 = 0
        for byte in buffer[consumed..<consumed + CastFraming.prefixLength] { length = length << 8 | UInt32(byte) }
        guard length > 0 else { return try fail(.emptyFrame) }
        // Compared as unsigned 32 bits: a length of 4 GiB is refused before a byte of it is waited for.
        guard length <= UInt32(CastFraming.maximumBody) else { return try fail(.frameTooLong(announced: length)) }
        let start = consumed + CastFraming.prefixLength
        let end = start + Int(length)
        guard buffer.count >= end else { return nil }
        do {
            let message = try CastFraming.decode(body: buffer[start..<end])
            consumed = end
            return message
        } catch {
            return try fail(error)
        }
    }

    private mutating func fail(_ error: CastFramingError) throws(CastFramingError) -> CastMessage? {
        broken = error
        buffer = []
        consumed = 0
        throw error
    }
}
