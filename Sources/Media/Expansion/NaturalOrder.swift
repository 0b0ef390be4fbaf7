/// Orders names as people count: “2 intro” before “10 outro”, without regard to case.
enum NaturalOrder {
    /// Paths are compared part by part, so that a folder's files stay together.
    static func precedes(_ left: String, _ right: String) -> Bool {
        let left = left.split(separator: "/")
        let right = right.split(separator: "/")
        for (a, b) in zip(left, right) {
            let order = compare(a, b)
            if order != 0 { return order < 0 }
        }
        return left.count < right.count
    }

    /// Below zero when `left` comes first, zero only for equal names.
    static func compare(_ left: Substring, _ right: Substring) -> Int {
        let a = Array(left.lowercased().utf8)
        let b = Array(right.lowercased().utf8)
        var i = 0
        var j = 0
        while i < a.count, j < b.count {
            if isDigit(a[i]), isDigit(b[j]) {
                let first = digits(a, &i)
                let second = digits(b, &j)
                // Without leading zeros the longer number is the greater, whatever its size.
                if first.count != second.count { return first.count < second.count ? -1 : 1 }
                if let (x, y) = zip(first, second).first(where: { $0 != $1 }) { return x < y ? -1 : 1 }
            } else {
                if a[i] != b[j] { return a[i] < b[j] ? -1 : 1 }
                i += 1
                j += 1
            }
        }
        if i < a.count || j < b.count { return i < a.count ? 1 : -1 }
        return left == right ? 0 : (left < right ? -1 : 1)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

    private static func digits(_ bytes: [UInt8], _ at: inout Int) -> ArraySlice<UInt8> {
        while at < bytes.count, bytes[at] == 48 { at += 1 }
        let start = at
        while at < bytes.count, isDigit(bytes[at]) { at += 1 }
        return bytes[start..<at]
    }
}
