/// The rows of comma-separated values (RFC 4180): fields in quotes may hold commas, line ends and
/// doubled quotes. Rows have line numbers, for reports.
struct CSVReader: Sequence, IteratorProtocol {
    struct Row {
        /// The first line of the row, counted from 1.
        let line: Int
        let fields: [String]
        let damage: String?
    }

    private var rest: Substring.UnicodeScalarView
    private var line = 1

    init(_ text: String) { rest = text[...].unicodeScalars }

    mutating func next() -> Row? {
        guard !rest.isEmpty else { return nil }
        let start = line
        var fields: [String] = []
        var field = String.UnicodeScalarView()
        var damage: String?
        var isQuoted = false
        var wasQuoted = false
        while let scalar = rest.popFirst() {
            if scalar == "\n" { line += 1 }
            if isQuoted {
                if scalar != "\"" {
                    field.append(scalar)
                } else if rest.first == "\"" {
                    field.append(rest.removeFirst())
                } else {
                    isQuoted = false
                }
                continue
            }
            switch scalar {
            case "\"" where field.isEmpty && !wasQuoted: (isQuoted, wasQuoted) = (true, true)
            case ",":
                fields.append(String(field))
                field = String.UnicodeScalarView()
                wasQuoted = false
            case "\r" where rest.first == "\n": break
            case "\n":
                fields.append(String(field))
                return Row(line: start, fields: fields, damage: damage)
            default:
                if wasQuoted { damage = damage ?? "has text after a closing quote" }
                field.append(scalar)
            }
        }
        if isQuoted { damage = "opens a quote that is never closed" }
        fields.append(String(field))
        return Row(line: start, fields: fields, damage: damage)
    }
}
