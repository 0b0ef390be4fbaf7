import Foundation
import Testing

@testable import RouteModel

@Suite("C10 the items of a queue as a collection")
struct QueueItemsTests {
    private func items(_ range: Range<Int>) -> [QueueItem] {
        range.map { QueueItem(id: ItemID(rawValue: "i\($0)"), source: .file(path: "/\($0)")) }
    }

    @Test(
        "whatever is done, it is as an array of the same items would be; copies stay what they were", arguments: 0..<8)
    func asAnArray(seed: UInt64) throws {
        var random = Draws(state: seed)
        var array = items(0..<600)
        var queue = QueueItems(array)
        var made = array.count
        var copies: [(QueueItems, [QueueItem])] = []
        for step in 0..<200 {
            let place = Int.random(in: 0..<max(1, array.count), using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1:
                let new = items(made..<(made + 5))
                made += 5
                array.insert(contentsOf: new, at: min(place, array.count))
                queue.insert(contentsOf: new, at: min(place, queue.count))
            case 2:
                array.removeAll { $0.id.rawValue.hasSuffix("\(step % 10)") }
                queue.removeAll { $0.id.rawValue.hasSuffix("\(step % 10)") }
            case 3 where !array.isEmpty:
                array[place].failure = "\(step)"
                queue[place].failure = "\(step)"
            case 4 where !array.isEmpty:
                array.swapAt(place, 0)
                queue.swapAt(place, 0)
            case 5 where !array.isEmpty:
                #expect(array.removeLast() == queue.removeLast())
            case 6: copies.append((queue, array))
            default:
                let new = items(made..<(made + 1))
                made += 1
                array += new
                queue += new
            }
            #expect(queue.elementsEqual(array), "step \(step)")
            #expect(queue.table.count <= 2 * queue.count + 64 + 5)
        }
        for (copy, was) in copies {
            #expect(copy.elementsEqual(was))
            #expect((copy == queue) == (was == array))
            #expect(copy == QueueItems(was) && copy.hashValue == QueueItems(was).hashValue)
        }
    }

    @Test("two copies that go their own ways are told apart, also where a number means one item here and another there")
    func ownWays() {
        var one = QueueItems(items(0..<300))
        var other = one
        #expect(one == other)
        one.append(items(900..<901)[0])
        other.append(items(901..<902)[0])
        #expect(one.numbers == other.numbers && one != other)
        other[300] = items(900..<901)[0]
        #expect(one == other)
        other[7].failure = "broken"
        #expect(one != other)
        #expect(other.table.changes(since: one.table) == [7, 300])
        #expect(other.table.changes(since: QueueItems(items(0..<300)).table) == nil)
    }

    @Test("as JSON it is a list")
    func json() throws {
        let list = items(0..<3)
        let queue = QueueItems(list)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(try encoder.encode(queue) == encoder.encode(list))
        #expect(try JSONDecoder().decode(QueueItems.self, from: try encoder.encode(list)) == queue)
    }

    @Test("a snapshot knows its current item's place, and is not misled by an old one")
    func currentPlace() {
        let list = items(0..<5)
        var queue = QueueSnapshot(
            version: 1, items: QueueItems(list), current: list[3].id, place: 3, repeatMode: .off, unshuffled: nil,
            failurePolicy: nil, shuffleSeed: nil)
        #expect(queue.currentPlace == 3 && queue.currentItem == list[3])
        queue.items.remove(at: 0)
        #expect(queue.currentPlace == 2 && queue.currentItem == list[3])
        queue.current = list[0].id
        #expect(queue.currentPlace == nil && queue.currentItem == nil)
        queue.current = nil
        #expect(queue.currentPlace == nil)
    }

    @Test("the order without shuffle is the same by items and by ids")
    func original() {
        let list = items(0..<5)
        func snapshot(_ unshuffled: QueueItems?) -> QueueSnapshot {
            QueueSnapshot(
                version: 1, items: QueueItems(list.reversed()), current: nil, place: nil, repeatMode: .off,
                unshuffled: unshuffled, failurePolicy: nil, shuffleSeed: 7)
        }
        let queue = snapshot(QueueItems(list))
        #expect(queue.original == list.map(\.id) && queue.isShuffled)
        var byIDs = snapshot(nil)
        #expect(!byIDs.hasSameOriginal(as: queue))
        byIDs.original = list.map(\.id)
        #expect(byIDs == queue && byIDs.hashValue == queue.hashValue && byIDs.hasSameOriginal(as: queue))
        byIDs.original = list.reversed().map(\.id)
        #expect(byIDs != queue)
    }
}

/// SplitMix64.
private struct Draws: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
