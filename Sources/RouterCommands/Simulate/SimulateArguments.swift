/// `--cast`, `--raop` and `--airplay2` may stand alone: then the receiver gets a name of ours. The argument parser knows no option whose
/// value may be missing, so the name is put in before it reads the words.
enum SimulateArguments {
    static let castName = "Simulated Cast"
    static let raopName = "Simulated Speaker"
    static let airPlay2Name = "Simulated AirPlay 2"
    private static let names = ["--cast": castName, "--raop": raopName, "--airplay2": airPlay2Name]

    /// The words after `router`, with a name for each receiver that was given none.
    static func complete(_ arguments: [String]) -> [String] {
        guard arguments.first == "simulate" else { return arguments }
        var completed: [String] = []
        var unnamed: [String: Int] = [:]
        for (index, word) in arguments.enumerated() {
            completed.append(word)
            guard let name = names[word] else { continue }
            if index + 1 < arguments.count, !arguments[index + 1].hasPrefix("-") { continue }
            unnamed[word, default: 0] += 1
            let count = unnamed[word] ?? 1
            completed.append(count == 1 ? name : "\(name) \(count)")
        }
        return completed
    }
}
