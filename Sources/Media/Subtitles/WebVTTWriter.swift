/// Writes what receivers read: WebVTT in UTF-8.
enum WebVTTWriter {
    static func write(_ document: SubtitleDocument) -> [UInt8] {
        var output = "WEBVTT\n"
        output.reserveCapacity(document.cues.count * 80)
        for cue in document.cues {
            output += "\n\(clock(cue.start)) --> \(clock(cue.end))\(settings(cue))\n"
            for run in cue.runs {
                let tags = [(SubtitleCue.Style.bold, "b"), (.italic, "i"), (.underline, "u")].filter {
                    run.style.contains($0.0)
                }.map(\.1)
                for tag in tags { output += "<\(tag)>" }
                for scalar in run.text.unicodeScalars {
                    switch scalar {
                    case "&": output += "&amp;"
                    case "<": output += "&lt;"
                    case ">": output += "&gt;"
                    default: output.unicodeScalars.append(scalar)
                    }
                }
                for tag in tags.reversed() { output += "</\(tag)>" }
            }
            output += "\n"
        }
        return Array(output.utf8)
    }

    private static func settings(_ cue: SubtitleCue) -> String {
        if let settings = cue.settings { return " " + settings }
        var words: [String] = []
        switch cue.place.key {
        case 7...9: words.append("line:0")
        case 4...6: words.append("line:50%")
        default: break
        }
        switch cue.place.key % 3 {
        case 1: words.append("position:0% align:start")
        case 0: words.append("position:100% align:end")
        default: break
        }
        return words.isEmpty ? "" : " " + words.joined(separator: " ")
    }

    static func clock(_ milliseconds: Int64) -> String {
        func padded(_ value: Int64, _ width: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        let seconds = milliseconds / 1000
        return padded(seconds / 3600, 2) + ":" + padded(seconds / 60 % 60, 2) + ":" + padded(seconds % 60, 2) + "."
            + padded(milliseconds % 1000, 3)
    }
}
