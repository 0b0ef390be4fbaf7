/// Sentences that several places say.
enum SceneWords {
    static func durationHelp(_ text: String) -> String {
        if let seconds = SceneValues.number(text), seconds >= 0 { return "write a unit: “\(text)s” or “\(text)m”" }
        if SceneValues.looksLikeClock(text) {
            let parts = text.split(separator: ":")
            let units = parts.count == 2 ? ["m", "s"] : ["h", "m", "s"]
            if parts.count <= 3 {
                let words = zip(parts, units).map { "\($0)\($1)" }.joined()
                return "write “\(words)”: a clock's form could be read in two ways"
            }
        }
        return "write one such as 90s, 1m30s or 250ms, of a day at most"
    }

    static func levelHelp(_ text: String) -> String {
        if let value = SceneValues.number(text), (0...100).contains(value) { return "write “\(text)%”" }
        return "write a level from 0% to 100%"
    }

    static func booleanHelp(_ text: String) -> String {
        switch text.lowercased() {
        case "yes", "on", "true", "y": "write true: only true and false are yes and no here"
        case "no", "off", "false", "n": "write false: only true and false are yes and no here"
        default: "write true or false"
        }
    }
}
