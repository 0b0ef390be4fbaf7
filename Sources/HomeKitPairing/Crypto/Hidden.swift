/// A secret that a value carries along: printing the value gives a mask.
struct Hidden: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var description: String { "••••" }
    var customMirror: Mirror { Mirror(self, children: []) }
}
