/// What a verb has done to something that is not there any more, as a document: `{"change": "removed", "kind": "room",
/// "name": "Den"}`.
struct Change: ListDisplayable, Equatable {
    enum Kind: String, Encodable { case room, group, queue, pairing, device, schedule, session, daemon }
    enum Word: String, Encodable { case removed, forgotten, cancelled, ended }

    var change: Word
    var kind: Kind
    var name: String

    init(_ change: Word, _ kind: Kind, _ name: String) {
        self.change = change
        self.kind = kind
        self.name = name
    }

    static var header: [String] { ["KIND", "NAME", "CHANGE"] }
    var row: [String] { [kind.rawValue, name, change.rawValue] }
    var quietValue: String { name }
}
