/// Typed words as a query of SQLite's full-text index.
///
/// All words must occur, in any field; the last may be a prefix. Every word is quoted, so that it cannot be an
/// operator, a column or a syntax error (https://www.sqlite.org/fts5.html, section 3).
struct TextQuery {
    /// Nil if the text has no words.
    let expression: String?

    init(_ text: String, lastIsPrefix: Bool) {
        // A word of punctuation has no tokens, and would match nothing.
        let words = text.split(whereSeparator: \.isWhitespace)
            .filter { $0.contains { $0.isLetter || $0.isNumber } }
            .map { "\"" + $0.filter { $0 != "\0" }.replacing("\"", with: "\"\"") + "\"" }
        expression = words.isEmpty ? nil : words.joined(separator: " ") + (lastIsPrefix ? "*" : "")
    }
}
