/// Words that people typed, as a query of SQLite's full-text index.
///
/// All words have to be there, in any of the fields; the last may be the beginning of one. Every word is
/// quoted, so that nothing of it is taken for an operator, a column or a syntax error
/// (https://www.sqlite.org/fts5.html, section 3).
struct TextQuery {
    /// Nil where the text has no words.
    let expression: String?

    init(_ text: String, lastIsPrefix: Bool) {
        // A word of punctuation alone gives the tokenizer nothing, and would match nothing.
        let words = text.split(whereSeparator: \.isWhitespace)
            .filter { $0.contains { $0.isLetter || $0.isNumber } }
            .map { "\"" + $0.filter { $0 != "\0" }.replacing("\"", with: "\"\"") + "\"" }
        expression = words.isEmpty ? nil : words.joined(separator: " ") + (lastIsPrefix ? "*" : "")
    }
}
