import RouteBackend
import RouterTestKit
import Testing

@Suite("Latest value")
struct LatestValueTests {
    @Test("a reader gets the current value first")
    func first() async {
        let broadcast = LatestValue(1)
        broadcast.set(2)
        var reader = broadcast.stream().makeAsyncIterator()
        #expect(await reader.next() == 2)
        broadcast.update { $0 += 1 }
        #expect(await reader.next() == 3)
        #expect(broadcast.value == 3)
    }

    @Test("a slow reader misses steps, never the latest")
    func slow() async {
        let broadcast = LatestValue(0)
        var reader = broadcast.stream().makeAsyncIterator()
        for value in 1...100 { broadcast.set(value) }
        #expect(await reader.next() == 100)
    }

    @Test("the end comes after the last value, and nothing after the end")
    func finish() async {
        let broadcast = LatestValue(0)
        var reader = broadcast.stream().makeAsyncIterator()
        broadcast.set(1)
        broadcast.finish()
        broadcast.set(2)
        #expect(await reader.next() == 1)
        #expect(await reader.next() == nil)
        #expect(broadcast.value == 1)
        var late = broadcast.stream().makeAsyncIterator()
        #expect(await late.next() == 1)
        #expect(await late.next() == nil)
        broadcast.finish()
    }

    @Test("each of many readers sees values in order and the last one, whoever writes at the same time")
    func many() async {
        let broadcast = LatestValue(0)
        await withTaskGroup(of: [Int].self) { group in
            for _ in 0..<8 {
                let stream = broadcast.stream()
                group.addTask { await stream.reduce(into: []) { $0.append($1) } }
            }
            await withTaskGroup(of: Void.self) { writers in
                for _ in 0..<4 {
                    writers.addTask { for _ in 0..<250 { broadcast.update { $0 += 1 } } }
                }
            }
            broadcast.finish()
            for await seen in group {
                #expect(seen.last == 1000)
                #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 < $1 })
            }
        }
    }

    @Test("a reader that goes away is forgotten, and the others read on")
    func dropped() async {
        let broadcast = LatestValue(0)
        var other = broadcast.stream().makeAsyncIterator()
        do {
            var gone = broadcast.stream().makeAsyncIterator()
            #expect(await gone.next() == 0)
        }
        #expect(await other.next() == 0)
        broadcast.set(1)
        #expect(await other.next() == 1)
    }

    @Test("a reader's cancellation ends its stream only")
    func cancelled() async {
        let broadcast = LatestValue(0)
        await withTaskGroup(of: Int.self) { group in
            let stream = broadcast.stream()
            group.addTask { await stream.reduce(0) { count, _ in count + 1 } }
            group.cancelAll()
            for await _ in group {}
        }
        broadcast.set(5)
        var reader = broadcast.stream().makeAsyncIterator()
        #expect(await reader.next() == 5)
    }
}
