import CAvahi
import Foundation
import RouteModel

/// TXT entries as a dictionary with keys in lower case; of a key that comes twice the first one counts (RFC 6763, 6.4).
///
/// An entry without `=` has an empty value; bytes that aren't UTF-8 are replaced.
func textRecord(entries: [[UInt8]]) -> [String: String] {
    var record: [String: String] = [:]
    for entry in entries {
        let parts = entry.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        let key = String(decoding: parts[0], as: UTF8.self).lowercased()
        guard !key.isEmpty, record[key] == nil else { continue }
        record[key] = parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : ""
    }
    return record
}

func textRecord(_ list: UnsafeMutablePointer<AvahiStringList>?) -> [String: String] {
    var entries: [[UInt8]] = []
    var node = list
    while let current = node {
        let bytes = UnsafeBufferPointer(
            start: avahi_string_list_get_text(current), count: avahi_string_list_get_size(current))
        entries.append(Array(bytes))
        node = avahi_string_list_get_next(current)
    }
    // The library builds its lists by putting each new entry in front, so the first of the record is the last here.
    return textRecord(entries: entries.reversed())
}

/// A list that the caller frees. Keys are in alphabetic order, so that the same dictionary gives the same record.
func stringList(_ txt: [String: String]) -> OpaqueStringList {
    var list: UnsafeMutablePointer<AvahiStringList>?
    for (key, value) in txt.sorted(by: { $0.key > $1.key }) {
        list = avahi_string_list_add_pair(list, key, value)
    }
    return OpaqueStringList(head: list)
}

/// Owns a string list of the library.
struct OpaqueStringList: ~Copyable {
    let head: UnsafeMutablePointer<AvahiStringList>?

    deinit { avahi_string_list_free(head) }
}

/// The address in numbers, an IPv6 link-local one with the scope that makes it usable.
func numericAddress(_ address: UnsafePointer<AvahiAddress>, interfaceName: String?) -> String {
    var buffer = [CChar](repeating: 0, count: Int(AVAHI_ADDRESS_STR_MAX))
    avahi_address_snprint(&buffer, buffer.count, address)
    let text = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard AddressKind(text) == .ipv6LinkLocal, let interfaceName else { return text }
    return "\(text)%\(interfaceName)"
}

func interfaceName(_ index: Int32) -> String? {
    guard index > 0 else { return nil }
    var buffer = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
    guard if_indextoname(UInt32(index), &buffer) != nil else { return nil }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

func avahiMessage(_ error: Int32) -> String { String(cString: avahi_strerror(error)) }
