import CSodium

/// A secret that a value carries along: printing the value gives a mask, and the last one that has it wipes it.
struct Hidden: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// Written by init and deinit only, hence safe to share.
    private final class Storage: @unchecked Sendable {
        let memory: UnsafeMutableBufferPointer<UInt8>

        init(_ bytes: [UInt8]) {
            memory = .allocate(capacity: bytes.count)
            _ = memory.initialize(from: bytes)
        }

        deinit {
            if let address = memory.baseAddress { sodium_memzero(address, memory.count) }
            memory.deallocate()
        }
    }

    private let storage: Storage

    init(_ bytes: [UInt8]) { storage = Storage(bytes) }

    /// A copy, which nobody wipes: not to be kept.
    var bytes: [UInt8] { Array(storage.memory) }

    static func == (left: Hidden, right: Hidden) -> Bool { PairingCrypto.equal(left.bytes, right.bytes) }

    func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

    var description: String { "••••" }
    var customMirror: Mirror { Mirror(self, children: []) }
}
