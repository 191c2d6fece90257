import Foundation

/// Typed words as a query of SQLite's full-text index.
///
/// All words must occur, in any field; the last may be a prefix. Every word is quoted, so that it cannot be an
/// operator, a column or a syntax error (https://www.sqlite.org/fts5.html, section 3).
package struct TextQuery {
    package let expression: String

    /// The query of the entities that have all words in their titles.
    package var inTitle: String { "{title} : (\(expression))" }

    /// Nil if the text has no words.
    package init?(_ text: String, lastIsPrefix: Bool) {
        // A word of punctuation has no tokens, and would match nothing.
        let words = text.split(whereSeparator: \.isWhitespace)
            .filter { TextFolding.folded($0).contains { $0.isLetter || $0.isNumber } }
            .map { SearchedWord($0.filter { $0 != "\0" }) }
        guard let last = words.last else { return nil }
        let terms = words.dropLast().map { $0.terms(lastIsPrefix: false) } + [last.terms(lastIsPrefix: lastIsPrefix)]
        expression = terms.joined(separator: " ")
    }
}

/// A word, as the index of words has it.
///
/// SQLite's tokenizer takes all letters between spaces for one word. In scripts that write no spaces between words,
/// such as those of Chinese, Japanese and Thai, that is a whole title. So their letters are indexed as pairs, each with
/// the next one: letters that follow each other are a phrase of pairs, and a single letter is a prefix of pairs. Korean
/// words have their particles attached, and are indexed in the same way.
package struct SearchedWord {
    /// Letters that follow each other, of scripts with or without spaces.
    private struct Run {
        let hasSpaces: Bool
        var scalars: [Unicode.Scalar]

        var text: String { String(String.UnicodeScalarView(scalars)) }
    }

    private let word: String
    /// ``TextFolding/folded(_:)``
    private let folded: String
    private let runs: [Run]

    package init(_ word: some StringProtocol) {
        self.word = String(word)
        folded = TextFolding.folded(word)
        var runs: [Run] = []
        var isAfterLetter = false
        for scalar in folded.unicodeScalars {
            let category = scalar.properties.generalCategory
            let isMark = [.nonspacingMark, .spacingMark, .enclosingMark].contains(category)
            guard isMark && isAfterLetter || scalar.properties.isAlphabetic || scalar.properties.numericType != nil
            else {
                isAfterLetter = false
                continue
            }
            let hasSpaces = isMark && isAfterLetter ? runs.last?.hasSpaces ?? true : !Self.isUnspaced(scalar)
            if isAfterLetter, let last = runs.indices.last, runs[last].hasSpaces == hasSpaces {
                runs[last].scalars.append(scalar)
            } else {
                runs.append(Run(hasSpaces: hasSpaces, scalars: [scalar]))
            }
            isAfterLetter = true
        }
        self.runs = runs
    }

    private var isUnspaced: Bool { runs.contains { !$0.hasSpaces } }

    /// What the index needs beside texts; nil if it needs nothing.
    package static func index(of texts: [String?]) -> String? {
        let words = texts.compactMap(\.self).flatMap { $0.split(whereSeparator: \.isWhitespace) }
            .compactMap { SearchedWord($0).indexed }
        return words.isEmpty ? nil : words.joined(separator: " ")
    }

    private var indexed: String? {
        guard isUnspaced else { return TextFolding.isFoldedByTokenizer(word, to: folded) ? nil : folded }
        return runs.map { run in
            run.hasSpaces ? run.text : Self.pairs(run.scalars, withLast: true).joined(separator: " ")
        }.joined(separator: " ")
    }

    /// What finds the word.
    ///
    /// - Parameter lastIsPrefix: whether the word may go on.
    package func terms(lastIsPrefix: Bool) -> String {
        guard isUnspaced else { return Self.quoted(folded) + (lastIsPrefix ? "*" : "") }
        return runs.enumerated().map { index, run in
            if run.hasSpaces {
                return Self.quoted(run.text) + (lastIsPrefix && index == runs.count - 1 ? "*" : "")
            }
            return run.scalars.count == 1
                ? Self.quoted(Self.token(run.scalars)) + "*"
                : Self.quoted(Self.pairs(run.scalars, withLast: false).joined(separator: " "))
        }.joined(separator: " ")
    }

    private static func quoted(_ text: String) -> String { "\"" + text.replacing("\"", with: "\"\"") + "\"" }

    /// Each letter with the next one, and the last one alone, so that no phrase goes on from one run to the next.
    private static func pairs(_ scalars: [Unicode.Scalar], withLast: Bool) -> [String] {
        zip(scalars, scalars.dropFirst()).map { token([$0, $1]) } + (withLast ? [token(scalars.suffix(1))] : [])
    }

    /// Letters as ASCII behind one of private use, which no text has: SQLite's tokenizer knows no letters that Unicode
    /// got later, and takes vowel signs for spaces.
    private static func token(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        let digits = Array("abcdefghijklmnopqrstuvwxyz234567".unicodeScalars)
        var token = "\u{E000}".unicodeScalars
        for scalar in scalars {
            // Five bits a digit, and 21 bits a letter.
            for shift in stride(from: 20, through: 0, by: -5) { token.append(digits[Int(scalar.value >> shift & 31)]) }
        }
        return String(token)
    }

    /// Whether a letter is of a script that writes no spaces between words, or of Korean (Unicode 15, Blocks.txt).
    static func isUnspaced(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // Thai, Lao, Tibetan, Burmese; Hangul Jamo; Khmer; Tai Le, New Tai Lue; Tai Tham.
        case 0x0E00...0x109F, 0x1100...0x11FF, 0x1780...0x17FF, 0x1950...0x19FF, 0x1A20...0x1AAF,
            // Radicals, kana, Bopomofo, Hangul, Han; Yi.
            0x2E80...0x2FDF, 0x3005...0x9FFF, 0xA000...0xA4CF,
            // Hangul; Javanese, Burmese; Tai Viet; Hangul; Han; halfwidth kana and Hangul.
            0xA960...0xA9FF, 0xAA60...0xAADF, 0xAC00...0xD7FF, 0xF900...0xFAFF, 0xFF66...0xFFDC,
            // Kana; Han.
            0x1AFF0...0x1B16F, 0x20000...0x3FFFF:
            true
        default: false
        }
    }
}
