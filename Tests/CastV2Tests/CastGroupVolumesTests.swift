import CastV2
import Testing

private let second: Int64 = 1_000_000_000

@Suite struct CastGroupVolumesTests {
    /// Kitchen louder than hall.
    private let house = CastGroupVolumes(levels: ["hall": 0.2, "kitchen": 0.8])

    private func near(_ levels: [String: Double], _ expected: [String: Double]) -> Bool {
        levels.count == expected.count && levels.allSatisfy { abs($0.value - (expected[$0.key] ?? 9)) < 1e-9 }
    }

    @Test("C17 master and trims come out of the levels, the loudest with a trim of 1") func fromLevels() {
        #expect(house.master == 0.8)
        #expect(near(house.trims, ["hall": 0.25, "kitchen": 1]))
        #expect(near(house.levels, ["hall": 0.2, "kitchen": 0.8]))
        #expect(CastGroupVolumes().master == 0)
        #expect(CastGroupVolumes(levels: ["a": .nan, "b": 7]).levels == ["a": 0, "b": 1])
    }

    @Test("C17 a group turned down to 0 by us and up again is as it was") func throughZero() {
        var group = house
        #expect(
            group.setMaster(0, now: 0) == [
                CastGroupVolumes.Change(deviceID: "hall", level: 0),
                CastGroupVolumes.Change(deviceID: "kitchen", level: 0),
            ])
        #expect(group.observed("hall", level: 0, now: 1) == false)
        #expect(group.observed("kitchen", level: 0, now: 1) == false)
        let changes = group.setMaster(0.8, now: 100 * second)
        #expect(near(Dictionary(uniqueKeysWithValues: changes.map { ($0.deviceID, $0.level) }), house.levels))
        #expect(near(group.trims, house.trims))
    }

    @Test("C17 a hundred moves of the master rewrite no trim") func manyMoves() {
        var group = house
        for move in 0..<100 {
            _ = group.setMaster(Double(move % 11) / 10, now: Int64(move) * second)
            for (id, level) in group.levels {
                // Devices round to steps of their own.
                #expect(group.observed(id, level: (level * 50).rounded() / 50, now: Int64(move) * second + 1) == false)
            }
        }
        #expect(near(group.trims, house.trims))
    }

    @Test("C17 somebody at one device changes that device's trim only") func ownChange() {
        var group = house
        #expect(group.observed("hall", level: 0.4, now: 0) == true)
        #expect(group.master == 0.8)
        #expect(near(group.trims, ["hall": 0.5, "kitchen": 1]))
    }

    @Test("C17 a member above the master raises it, and nobody's loudness changes") func aboveTheMaster() {
        var group = house
        #expect(group.observed("hall", level: 1, now: 0) == true)
        #expect(group.master == 1)
        #expect(near(group.levels, ["hall": 1, "kitchen": 0.8]))
        #expect(near(group.trims, ["hall": 1, "kitchen": 0.8]))
        #expect(group.setMember("hall", to: 0.1, now: 0) == [CastGroupVolumes.Change(deviceID: "hall", level: 0.1)])
        #expect(group.master == 0.8)
        #expect(near(group.levels, ["hall": 0.1, "kitchen": 0.8]))
    }

    @Test("C17 what was on its way before a change is no change of anybody's") func olderNews() {
        var group = house
        _ = group.setMaster(0.4, now: 0)
        #expect(group.observed("kitchen", level: 0.8, now: second) == false)
        #expect(group.observed("kitchen", level: 0.41, now: second) == false)
        #expect(near(group.trims, house.trims))
        // Long after, the same level is somebody's doing.
        _ = group.setMaster(0.2, now: 10 * second)
        #expect(group.observed("kitchen", level: 0.8, now: 13 * second) == true)
        #expect(near(group.levels, ["hall": 0.05, "kitchen": 0.8]))
    }

    @Test("C17 another sender turns the whole group to 0: the trims outlive it") func silencedByOthers() {
        var group = house
        #expect(group.observed("kitchen", level: 0, now: second) == true)
        #expect(group.observed("hall", level: 0, now: 2 * second) == true)
        #expect(group.master == 0)
        #expect(near(group.trims, house.trims))
        _ = group.setMaster(0.4, now: 60 * second)
        #expect(near(group.levels, ["hall": 0.1, "kitchen": 0.4]))
    }

    @Test("C17 a room that somebody silenced long before stays silent") func silencedAlone() {
        var group = house
        #expect(group.observed("kitchen", level: 0, now: second) == true)
        #expect(near(group.levels, ["hall": 0.2, "kitchen": 0]))
        #expect(group.observed("hall", level: 0, now: 60 * second) == true)
        _ = group.setMaster(0.5, now: 120 * second)
        #expect(near(group.levels, ["hall": 0.5, "kitchen": 0]))
    }

    @Test("C17 while the master is 0 a trim changes beside the last master that was not") func trimWhileSilent() {
        var group = house
        _ = group.setMaster(0, now: 0)
        #expect(group.observed("hall", level: 0.4, now: 10 * second) == true)
        #expect(group.master == 0)
        #expect(near(group.trims, ["hall": 0.5, "kitchen": 1]))
        #expect(group.observed("hall", level: 1, now: 10 * second) == true)
        #expect(near(group.trims, ["hall": 1, "kitchen": 0.8]))
    }

    @Test("C17 members come with the level that they have, and go without a sound") func membership() {
        var group = house
        #expect(group.observed("porch", level: 0.9, now: 0) == true)
        #expect(group.master == 0.9)
        #expect(near(group.levels, ["hall": 0.2, "kitchen": 0.8, "porch": 0.9]))
        group.remove("porch")
        group.remove("never there")
        #expect(near(group.levels, house.levels))
        #expect(group.master == 0.8)
        var empty = CastGroupVolumes()
        #expect(empty.observed("a", level: 0.3, now: 0) == true)
        #expect(empty.master == 0.3)
        #expect(empty.setMember("b", to: 1, now: 0) == [])
    }

    @Test("C17 a limit holds, and is forgotten by nobody's trim") func limits() {
        var group = house
        group.setLimit(0.5, of: "kitchen")
        #expect(group.setMaster(1, now: 0).map(\.level) == [0.25, 0.5])
        #expect(group.observed("kitchen", level: 0.5, now: 1) == false)
        #expect(near(group.trims, house.trims))
        #expect(group.setMember("kitchen", to: 0.9, now: 1) == [])
    }

    @Test("C17 trims of an earlier session, for a group that is silent now") func remembered() {
        var group = CastGroupVolumes(levels: ["hall": 0, "kitchen": 0], trims: house.trims)
        #expect(group.master == 0)
        #expect(group.setMaster(0.8, now: 0).map(\.level) == [0.2, 0.8])
        // What is heard now says more than what was.
        #expect(CastGroupVolumes(levels: ["a": 0.5], trims: ["a": 0.1]).trims == ["a": 1])
    }

    @Test("C17 nothing is set that is right already") func nothingToDo() {
        var group = house
        #expect(group.setMaster(0.8, now: 0) == [])
        _ = group.setMaster(0.4, now: 0)
        #expect(group.setMaster(0.4, now: 0) == [])
    }
}
