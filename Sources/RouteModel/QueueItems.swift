/// The items of a queue in an order, as a collection.
///
/// Made for a hundred thousand of them: the items are in a table that copies share, and the order is a list of numbers
/// in it. Another order, or one item more, costs what its numbers cost; no item is touched for it.
public struct QueueItems: Sendable {
    package private(set) var table: ItemTable
    /// The order, as the table's numbers; each is there once.
    package private(set) var numbers: [UInt32]

    public init() { self.init(table: ItemTable(), numbers: []) }

    public init(_ items: some Sequence<QueueItem>) {
        let table = ItemTable(items)
        self.init(table: table, numbers: Array(0..<UInt32(table.count)))
    }

    package init(table: ItemTable, numbers: [UInt32]) {
        self.table = table
        self.numbers = numbers
    }

    /// Items that left are kept by the table until they are more than those that are there.
    private mutating func compact() {
        guard table.count > 2 * numbers.count + 64 else { return }
        self = QueueItems(Array(self))
    }
}

extension QueueItems: RandomAccessCollection, MutableCollection, RangeReplaceableCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { numbers.count }

    public subscript(position: Int) -> QueueItem {
        get { table[numbers[position]] }
        set { table[numbers[position]] = newValue }
    }

    public mutating func swapAt(_ first: Int, _ second: Int) { numbers.swapAt(first, second) }

    public mutating func replaceSubrange(_ range: Range<Int>, with new: some Collection<QueueItem>) {
        numbers.replaceSubrange(range, with: new.map { table.append($0) })
        compact()
    }

    public mutating func append(_ item: QueueItem) { numbers.append(table.append(item)) }

    public mutating func reserveCapacity(_ count: Int) { numbers.reserveCapacity(count) }
}

extension QueueItems: Hashable {
    public static func == (left: QueueItems, right: QueueItems) -> Bool { left.agrees(with: right, by: ==) }

    public static func == (left: QueueItems, right: some Sequence<QueueItem>) -> Bool { left.elementsEqual(right) }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for item in self { hasher.combine(item) }
    }

    /// Whether as many items are in the same order, by a comparison that an item always passes with itself.
    func agrees(with other: QueueItems, by isSame: (QueueItem, QueueItem) -> Bool) -> Bool {
        guard count == other.count else { return false }
        guard let changed = table.changes(since: other.table) else { return elementsEqual(other, by: isSame) }
        if numbers == other.numbers, changed.isEmpty { return true }
        let changes = NumberSet(changed, count: table.count)
        return indices.allSatisfy { place in
            let number = numbers[place]
            return number == other.numbers[place] && !changes.contains(number) || isSame(self[place], other[place])
        }
    }
}

extension QueueItems: Codable {
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode([QueueItem].self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Array(self))
    }
}

extension QueueItems: ExpressibleByArrayLiteral, CustomStringConvertible {
    public init(arrayLiteral elements: QueueItem...) { self.init(elements) }

    public var description: String { Array(self).description }
}

/// Items under numbers, from zero on. Copies share what is the same in them.
package struct ItemTable: Sendable {
    /// Which tables came of one: among these a number is the same item, or what has become of it.
    private final class Origin: Sendable {}

    private static let chunkShift: UInt32 = 8
    private static let chunkSize = 1 << chunkShift

    private let origin = Origin()
    /// All but the last are of the full size.
    private var chunks: [[QueueItem]] = []

    package init() {}

    package init(_ items: some Sequence<QueueItem>) {
        var chunk: [QueueItem] = []
        for item in items {
            if chunk.isEmpty { chunk.reserveCapacity(Self.chunkSize) }
            chunk.append(item)
            if chunk.count == Self.chunkSize {
                chunks.append(chunk)
                chunk = []
            }
        }
        if !chunk.isEmpty { chunks.append(chunk) }
    }

    package var count: Int {
        guard let last = chunks.last else { return 0 }
        return (chunks.count - 1) * Self.chunkSize + last.count
    }

    package subscript(number: UInt32) -> QueueItem {
        get { chunks[Int(number >> Self.chunkShift)][Int(number) & (Self.chunkSize - 1)] }
        set { chunks[Int(number >> Self.chunkShift)][Int(number) & (Self.chunkSize - 1)] = newValue }
    }

    /// - Returns: the number that the item has from now on.
    package mutating func append(_ item: QueueItem) -> UInt32 {
        let number = UInt32(count)
        if chunks.last.map({ $0.count < Self.chunkSize }) ?? false {
            chunks[chunks.count - 1].append(item)
        } else {
            chunks.append([item])
        }
        return number
    }

    /// The numbers whose items are others than in an earlier copy, those that it had not among them; nil where the two
    /// did not come of one table.
    package func changes(since old: ItemTable) -> [UInt32]? {
        guard origin === old.origin else { return nil }
        var result: [UInt32] = []
        for place in chunks.indices {
            let before = place < old.chunks.count ? old.chunks[place] : []
            let now = chunks[place]
            if now.sharesStorage(with: before) { continue }
            for index in now.indices where index >= before.count || now[index].identity != before[index].identity {
                result.append(UInt32(place * Self.chunkSize + index))
            }
        }
        return result
    }
}

extension Array {
    fileprivate func sharesStorage(with other: [Element]) -> Bool {
        guard count == other.count else { return false }
        return withUnsafeBufferPointer { left in
            other.withUnsafeBufferPointer { left.baseAddress == $0.baseAddress }
        }
    }
}

/// A set of a table's numbers, one bit for each that there is.
package struct NumberSet: Sendable {
    private var words: [UInt64]

    /// - Parameter count: all numbers are below it.
    package init(_ numbers: [UInt32] = [], count: Int) {
        words = [UInt64](repeating: 0, count: (count + 63) / 64)
        for number in numbers { words[Int(number >> 6)] |= 1 << UInt64(number & 63) }
    }

    package func contains(_ number: UInt32) -> Bool {
        let word = Int(number >> 6)
        return word < words.count && words[word] & (1 << UInt64(number & 63)) != 0
    }

    package mutating func insert(_ number: UInt32) {
        let word = Int(number >> 6)
        while words.count <= word { words.append(0) }
        words[word] |= 1 << UInt64(number & 63)
    }

    package mutating func remove(_ number: UInt32) {
        let word = Int(number >> 6)
        if word < words.count { words[word] &= ~(1 << UInt64(number & 63)) }
    }

    package var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }
}
