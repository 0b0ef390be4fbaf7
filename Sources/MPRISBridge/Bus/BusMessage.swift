import CSystemd
import Foundation

/// A message of sd-bus, read and written without its variadic functions.
///
/// Touched on its connection's thread only, by the actor that runs there: that confinement is what makes it sendable.
final class BusMessage: @unchecked Sendable {
    /// Values in one message at most, counted with those inside others.
    private static let maximumValues = 4096
    /// Bytes of one string at most.
    private static let maximumText = 1 << 20

    let raw: OpaquePointer

    /// Shares one that sd-bus holds.
    init(_ raw: OpaquePointer) { self.raw = sd_bus_message_ref(raw) }

    private init(owning raw: OpaquePointer) { self.raw = raw }

    deinit { sd_bus_message_unref(raw) }

    var sender: String? { sd_bus_message_get_sender(raw).map { String(cString: $0) } }
    var path: String? { sd_bus_message_get_path(raw).map { String(cString: $0) } }
    var interface: String? { sd_bus_message_get_interface(raw).map { String(cString: $0) } }
    var member: String { sd_bus_message_get_member(raw).map { String(cString: $0) } ?? "" }
    var signature: String { sd_bus_message_get_signature(raw, 1).map { String(cString: $0) } ?? "" }
    var isCall: Bool { sd_bus_message_is_method_call(raw, nil, nil) > 0 }
    /// Whether whoever called waits for an answer.
    var wantsAnswer: Bool { sd_bus_message_get_expect_reply(raw) > 0 }

    /// The error that it is, if it is one.
    var failure: BusFailure? {
        guard sd_bus_message_is_method_error(raw, nil) > 0 else { return nil }
        guard let error = sd_bus_message_get_error(raw), let name = error.pointee.name else {
            return BusFailure(BusFailure.Name.failed, "an error without a name")
        }
        return BusFailure(
            String(cString: name), error.pointee.message.map { String(cString: $0) } ?? "no reason given")
    }

    // MARK: Making

    static func call(
        _ bus: OpaquePointer, _ destination: String, _ path: String, _ interface: String, _ member: String
    ) throws(BusFailure) -> BusMessage {
        var raw: OpaquePointer?
        try check(sd_bus_message_new_method_call(bus, &raw, destination, path, interface, member), "make a call")
        return try made(raw)
    }

    static func signal(
        _ bus: OpaquePointer, _ path: String, _ interface: String, _ member: String
    ) throws(BusFailure) -> BusMessage {
        var raw: OpaquePointer?
        try check(sd_bus_message_new_signal(bus, &raw, path, interface, member), "make a signal")
        return try made(raw)
    }

    /// The answer to this call.
    func reply() throws(BusFailure) -> BusMessage {
        var raw: OpaquePointer?
        try Self.check(sd_bus_message_new_method_return(self.raw, &raw), "make an answer")
        return try Self.made(raw)
    }

    func reply(_ failure: BusFailure) throws(BusFailure) -> BusMessage {
        var raw: OpaquePointer?
        var error = sd_bus_error()
        defer { sd_bus_error_free(&error) }
        _ = sd_bus_error_set(&error, failure.name, failure.message.replacingOccurrences(of: "\0", with: " "))
        try Self.check(sd_bus_message_new_method_error(self.raw, &raw, &error), "make an error")
        return try Self.made(raw)
    }

    func send() throws(BusFailure) { try Self.check(sd_bus_send(nil, raw, nil), "send a message") }

    private static func made(_ raw: OpaquePointer?) throws(BusFailure) -> BusMessage {
        guard let raw else { throw BusFailure(code: -ENOMEM, doing: "make a message") }
        return BusMessage(owning: raw)
    }

    private static func check(_ code: Int32, _ what: String) throws(BusFailure) {
        guard code >= 0 else { throw BusFailure(code: code, doing: what) }
    }

    // MARK: Writing

    func append(_ values: [BusValue]) throws(BusFailure) {
        for value in values { try append(value) }
    }

    private func append(_ value: BusValue) throws(BusFailure) {
        switch value {
        case .boolean(let flag): try append(basic: "b", Int32(flag ? 1 : 0))
        case .int32(let number): try append(basic: "i", number)
        case .uint32(let number): try append(basic: "u", number)
        case .int64(let number): try append(basic: "x", number)
        case .uint64(let number): try append(basic: "t", number)
        case .double(let number): try append(basic: "d", number)
        case .string(let text): try append("s", text)
        case .path(let text): try append("o", text)
        case .strings(let texts):
            try contain("a", "s") { () throws(BusFailure) in for text in texts { try append("s", text) } }
        case .paths(let texts):
            try contain("a", "o") { () throws(BusFailure) in for text in texts { try append("o", text) } }
        case .dictionary(let fields): try append(fields)
        case .dictionaries(let list):
            try contain("a", "a{sv}") { () throws(BusFailure) in for fields in list { try append(fields) } }
        case .variant(let inner):
            try contain("v", inner.signature) { () throws(BusFailure) in try append(inner) }
        case .other(let signature):
            throw BusFailure(BusFailure.Name.failed, "a value of type \(signature) cannot be written")
        }
    }

    private func append(_ fields: [String: BusValue]) throws(BusFailure) {
        try contain("a", "{sv}") { () throws(BusFailure) in
            for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
                try contain("e", "sv") { () throws(BusFailure) in
                    try append("s", key)
                    try append(.variant(value))
                }
            }
        }
    }

    private func append(basic type: Character, _ value: some BitwiseCopyable) throws(BusFailure) {
        let code = withUnsafePointer(to: value) { sd_bus_message_append_basic(raw, Self.code(type), $0) }
        try Self.check(code, "write a value")
    }

    private func append(_ type: Character, _ text: String) throws(BusFailure) {
        let code = text.withCString { sd_bus_message_append_basic(raw, Self.code(type), $0) }
        try Self.check(code, "write a text")
    }

    private func contain(
        _ type: Character, _ contents: String, _ body: () throws(BusFailure) -> Void
    ) throws(BusFailure) {
        try Self.check(sd_bus_message_open_container(raw, Self.code(type), contents), "write a list")
        try body()
        try Self.check(sd_bus_message_close_container(raw), "write a list")
    }

    private static func code(_ type: Character) -> CChar { CChar(bitPattern: type.asciiValue ?? 0) }

    // MARK: Reading

    /// What it holds, from the beginning. Throws `InvalidArgs` for what cannot be read, and `LimitsExceeded`.
    func values() throws(BusFailure) -> [BusValue] {
        try Self.check(sd_bus_message_rewind(raw, 1), "read a message")
        var budget = Self.maximumValues
        var values: [BusValue] = []
        while let value = try read(&budget) { values.append(value) }
        return values
    }

    /// The next value; nil at the end of what is open.
    private func read(_ budget: inout Int) throws(BusFailure) -> BusValue? {
        guard let (type, contents) = try peek() else { return nil }
        budget -= 1
        guard budget >= 0 else { throw Self.tooMuch }
        switch type {
        case "b": return .boolean(try basic("b", Int32(0)) != 0)
        case "y": return .uint32(UInt32(try basic("y", UInt8(0))))
        case "n": return .int32(Int32(try basic("n", Int16(0))))
        case "q": return .uint32(UInt32(try basic("q", UInt16(0))))
        case "i": return .int32(try basic("i", Int32(0)))
        case "u": return .uint32(try basic("u", UInt32(0)))
        case "x": return .int64(try basic("x", Int64(0)))
        case "t": return .uint64(try basic("t", UInt64(0)))
        case "d": return .double(try basic("d", Double(0)))
        case "s": return try text("s").map { .string($0) } ?? .other("s")
        case "o": return try text("o").map { .path($0) } ?? .other("o")
        case "v":
            let inner: BusValue? = try inside("v", contents, &budget) { budget throws(BusFailure) in try read(&budget) }
            return .variant(inner ?? .other(contents))
        case "a":
            switch contents {
            case "s", "o":
                let list: [String] = try inside("a", contents, &budget) { budget throws(BusFailure) in
                    try texts(&budget)
                }
                return contents == "s" ? .strings(list) : .paths(list)
            case "{sv}": return .dictionary(try fields(&budget))
            case "a{sv}":
                let list = try inside("a", contents, &budget) { budget throws(BusFailure) in
                    var list: [[String: BusValue]] = []
                    while try peek() != nil { list.append(try fields(&budget)) }
                    return list
                }
                return .dictionaries(list)
            default: return try skip("a" + contents)
            }
        case "r": return try skip("(" + contents + ")")
        default: return try skip(String(type))
        }
    }

    private func texts(_ budget: inout Int) throws(BusFailure) -> [String] {
        var texts: [String] = []
        while let value = try read(&budget) {
            if let text = value.text { texts.append(text) }
        }
        return texts
    }

    private func fields(_ budget: inout Int) throws(BusFailure) -> [String: BusValue] {
        try inside("a", "{sv}", &budget) { budget throws(BusFailure) in
            var fields: [String: BusValue] = [:]
            while try peek() != nil {
                try inside("e", "sv", &budget) { budget throws(BusFailure) in
                    let key = try read(&budget)?.text
                    let value = try read(&budget)
                    if let key, case .variant(let inner)? = value { fields[key] = inner }
                }
            }
            return fields
        }
    }

    private func peek() throws(BusFailure) -> (type: Character, contents: String)? {
        var type = CChar(0)
        var contents: UnsafePointer<CChar>?
        let code = sd_bus_message_peek_type(raw, &type, &contents)
        try Self.check(code, "read a message")
        guard code > 0 else { return nil }
        return (Character(Unicode.Scalar(UInt8(bitPattern: type))), contents.map { String(cString: $0) } ?? "")
    }

    private func basic<Value: BitwiseCopyable>(_ type: Character, _ zero: Value) throws(BusFailure) -> Value {
        var value = zero
        try Self.check(sd_bus_message_read_basic(raw, Self.code(type), &value), "read a value")
        return value
    }

    /// Nil for one that is too long. sd-bus has made sure that it is UTF-8.
    private func text(_ type: Character) throws(BusFailure) -> String? {
        var text: UnsafePointer<CChar>?
        try Self.check(sd_bus_message_read_basic(raw, Self.code(type), &text), "read a text")
        guard let text, strnlen(text, Self.maximumText + 1) <= Self.maximumText else { return nil }
        return String(cString: text)
    }

    private func inside<Value>(
        _ type: Character, _ contents: String, _ budget: inout Int,
        _ body: (inout Int) throws(BusFailure) -> Value
    ) throws(BusFailure) -> Value {
        try Self.check(sd_bus_message_enter_container(raw, Self.code(type), contents), "read a list")
        let value = try body(&budget)
        try Self.check(sd_bus_message_exit_container(raw), "read a list")
        return value
    }

    private func skip(_ signature: String) throws(BusFailure) -> BusValue {
        try Self.check(sd_bus_message_skip(raw, signature), "pass over a value")
        return .other(signature)
    }

    private static let tooMuch = BusFailure(
        BusFailure.Name.limits, "the message holds more than \(maximumValues) values")
}
