import RouteModel

/// Checks a document against a schema and says where it is wrong, in a person's words.
struct SchemaCheck {
    let components: [String: JSONSchema]

    /// What is wrong first, with its place such as `rooms[2]`; nil where nothing is.
    func problem(_ value: JSONValue, _ schema: JSONSchema, at place: String = "the body") -> String? {
        switch (schema, value) {
        case (.reference(let name), _):
            guard let named = components[name] else { return "\(place) has the unknown type \(name)" }
            return problem(value, named, at: place)
        case (.anything, _): return nil
        case (.boolean, .bool): return nil
        case (.boolean, _): return wrong(place, "true or false", value)
        case (.integer(let range), .number(let number)):
            guard number.rounded() == number, abs(number) <= 9_007_199_254_740_992 else {
                return "\(place) must be a whole number"
            }
            guard let range, !(Double(range.lowerBound)...Double(range.upperBound)).contains(number) else {
                return nil
            }
            return "\(place) must be from \(range.lowerBound) to \(range.upperBound)"
        case (.integer, _): return wrong(place, "a whole number", value)
        case (.number(let range), .number(let number)):
            guard let range, !range.contains(number) else { return nil }
            return "\(place) must be from \(Self.text(range.lowerBound)) to \(Self.text(range.upperBound))"
        case (.number, _): return wrong(place, "a number", value)
        case (.string(let lengths), .string(let text)):
            guard let lengths, !lengths.contains(text.unicodeScalars.count) else { return nil }
            return lengths.lowerBound > 0 && text.isEmpty
                ? "\(place) is empty" : "\(place) has more than \(lengths.upperBound) characters"
        case (.string, _): return wrong(place, "a string", value)
        case (.words(let words), .string(let text)):
            guard !words.contains(text) else { return nil }
            let near = NearNames.of(text, among: words).first.map { "; did you mean “\($0)”?" }
            return "\(place) must be one of \(words.joined(separator: ", "))\(near ?? "")"
        case (.words, _): return wrong(place, "a string", value)
        case (.array(let element, let most), .array(let values)):
            if let most, values.count > most { return "\(place) has more than \(most) entries" }
            for (index, value) in values.enumerated() {
                if let found = problem(value, element, at: "\(place)[\(index)]") { return found }
            }
            return nil
        case (.array, _): return wrong(place, "an array", value)
        case (.map(let element), .object(let fields)):
            for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
                if let found = problem(value, element, at: Self.inside(place, key)) { return found }
            }
            return nil
        case (.map, _): return wrong(place, "an object", value)
        case (.object(let properties), .object(let fields)): return problem(fields, properties, at: place)
        case (.object, _): return wrong(place, "an object", value)
        case (.tagged(let variants), .object(var fields)):
            guard case .string(let tag)? = fields.removeValue(forKey: "type") else {
                return "\(place) has no type; give one of \(variants.map(\.tag).joined(separator: ", "))"
            }
            guard let variant = variants.first(where: { $0.tag == tag }) else {
                return problem(.string(tag), .words(variants.map(\.tag)), at: Self.inside(place, "type"))
            }
            return problem(fields, variant.properties, at: place)
        case (.tagged, _): return wrong(place, "an object with a type", value)
        case (.choice(let choices), _):
            let found = choices.map { problem(value, $0, at: place) }
            return found.count { $0 == nil } == 1 ? nil : found.compactMap { $0 }.first ?? "\(place) is ambiguous"
        }
    }

    private func problem(
        _ fields: [String: JSONValue], _ properties: [JSONSchema.Property], at place: String
    ) -> String? {
        let names = properties.map(\.name)
        for name in fields.keys.sorted() where !names.contains(name) {
            let near = NearNames.of(name, among: names).first.map { "; did you mean “\($0)”?" }
            return "\(place) has an unknown field “\(name.prefix(64))”\(near ?? "")"
        }
        for property in properties {
            guard let value = fields[property.name] else {
                if property.required { return "\(place) has no “\(property.name)”" }
                continue
            }
            if let found = problem(value, property.schema, at: Self.inside(place, property.name)) { return found }
        }
        return nil
    }

    private func wrong(_ place: String, _ wanted: String, _ value: JSONValue) -> String {
        "\(place) must be \(wanted), not \(value.kind)"
    }

    private static func inside(_ place: String, _ key: String) -> String {
        place == "the body" ? "“\(key.prefix(64))”" : "\(place).\(key.prefix(64))"
    }

    private static func text(_ number: Double) -> String {
        number == number.rounded() && abs(number) < 1e15 ? String(Int(number)) : String(number)
    }
}
