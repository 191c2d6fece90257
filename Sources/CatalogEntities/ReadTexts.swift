import Foundation

/// Lines of text that were read from a query, and how likely they name an entity.
///
/// A word tells more the rarer it is in the catalog, and the longer it is: in natural logarithms, it has the
/// information of its share of the entities, as if there were a thousand more without it, and 1.5 per letter after the
/// second at most. A number tells parts of a series apart, and counts as three letters more. What counts for an entity
/// is the information of its title's and its subtitle's words that were read; against it count the share of its title
/// that was not read, the share of other words in the same lines, and the size of the catalog. Entities that the same
/// words name share their probability, so editions of a book with one title have a part of it each.
///
/// The coefficients were fitted to drawn catalogs of 10 to 10,000 titles, half of them short, and to drawn lines with
/// misread, missing, joined and foreign words (`Models/training/text_evidence.py`).
package struct ReadTexts: Sendable {
    /// A text alone makes an entity no surer than this: a picture may name what it does not show.
    static let mostConfidence = 0.9

    /// The words of each line.
    let lines: [[String]]
    /// All different words, in the order of the lines.
    package let words: [String]
    /// What an attribute may have as its value: lines, and words with digits.
    package let values: [String]
    /// Numbers of products and books, and what they name.
    package let codes: [(text: String, code: ProductCode)]

    private static let mostLines = 200
    private static let mostWords = 500

    /// - Parameter texts: lines; further ones than 200 are ignored.
    package init(_ texts: [String]) {
        let lines = texts.flatMap { $0.split(whereSeparator: \.isNewline) }.prefix(Self.mostLines)
        self.lines = lines.map { TextWords.words(of: $0) }
        var seen: Set<String> = []
        let different = self.lines.joined().filter { seen.insert($0).inserted }
        words = Array(different.prefix(Self.mostWords))
        let parts = lines.flatMap { $0.split(whereSeparator: \.isWhitespace) }.filter { $0.contains(where: \.isNumber) }
        let values = (lines + parts).map { $0.trimmingCharacters(in: .whitespaces.union(.punctuationCharacters)) }
        self.values = Array(Set(values.filter { $0.count >= 4 && !$0.utf8.contains(0) })).sorted()
        var known: Set<ProductCode> = []
        codes = lines.flatMap { ProductCode.numbers(in: $0) }.filter { known.insert($0.code).inserted }
    }

    /// The log odds that an entity is named: the coefficients of a logistic regression.
    private enum Coefficient {
        static let bias = 4.1
        static let perRead = 0.14
        static let perReadBeside = 0.45
        static let perMissingShare = 5.9
        static let perOtherShare = 6.3
        static let perLogEntity = 0.65
    }

    /// An entity that has some of the words.
    package struct Candidate {
        let row: Int64
        let title: String?
        let subtitle: String?
        /// Its attributes whose values were read, with the number of entities that have each.
        var attributes: [(value: String, count: Int)]

        package init(row: Int64, title: String?, subtitle: String?, attributes: [(value: String, count: Int)]) {
            (self.row, self.title, self.subtitle, self.attributes) = (row, title, subtitle, attributes)
        }
    }

    /// The entities that the texts name, with the probability of each.
    ///
    /// - Parameter count: how many entities have a word.
    package func probabilities(
        of candidates: [Candidate], among entityCount: Int, count: (String) throws -> Int
    ) throws -> [Int64: Double] {
        let logCount = log(Double(max(entityCount, 1)))
        let all = Set(words)
        func information(_ word: String) throws -> Double {
            TextWords.information(
                length: TextWords.length(of: word), count: try count(word), entityCount: entityCount)
        }
        var named: [(row: Int64, odds: Double, words: Set<String>)] = []
        for candidate in candidates {
            var (read, missing) = (0.0, 0.0)
            var own: Set<String> = []
            for word in Set(TextWords.words(of: candidate.title ?? "")).sorted() {
                let value = try information(word)
                if all.contains(word) {
                    read += value
                    own.insert(word)
                } else if let similar = words.first(where: { TextWords.isMisread($0, of: word) }) {
                    read += max(0, value - TextWords.costOfALetter)
                    own.insert(similar)
                } else {
                    missing += value
                }
            }
            var beside = 0.0
            var explained = own
            for word in Set(TextWords.words(of: candidate.subtitle ?? "")).sorted() where all.contains(word) {
                beside += try information(word)
                explained.insert(word)
            }
            var byValue = -Double.infinity
            for (value, count) in candidate.attributes {
                let information = TextWords.information(
                    length: value.count { $0.isLetter || $0.isNumber }, count: count, entityCount: entityCount)
                beside += information
                explained.formUnion(TextWords.words(of: value))
                if Self.isName(value) {
                    byValue = max(
                        byValue,
                        Coefficient.bias + Coefficient.perRead * information - Coefficient.perLogEntity * logCount)
                }
            }
            var other = 0.0
            for line in lines where line.contains(where: own.contains) {
                for word in Set(line).subtracting(explained).sorted() { other += try information(word) }
            }
            let byTitle =
                read == 0
                ? -Double.infinity
                : Coefficient.bias + Coefficient.perRead * read + Coefficient.perReadBeside * beside
                    - Coefficient.perMissingShare * missing / (read + missing)
                    - Coefficient.perOtherShare * other / (read + other) - Coefficient.perLogEntity * logCount
            let odds = min(max(byTitle, byValue), 30)
            if odds > -30 { named.append((candidate.row, odds, own.isEmpty ? explained : own)) }
        }
        return named.reduce(into: [:]) { probabilities, entity in
            let rivals = named.lazy.filter { !$0.words.isDisjoint(with: entity.words) }.reduce(0) { $0 + exp($1.odds) }
            let probability = Self.mostConfidence * exp(entity.odds) / (1 + rivals)
            if probability >= Self.leastProbability { probabilities[entity.row] = probability }
        }
    }

    /// Whether an attribute's value may name one thing: it has digits, and is no year, price, date or size.
    private static func isName(_ value: String) -> Bool {
        let digits = value.count(where: \.isNumber)
        let letters = value.count(where: \.isLetter)
        return digits > 0 && digits + letters >= 6 && (letters > 0 || digits >= 8)
            && value.prefixMatch(of: /[0-9]{4}-[0-9]{2}/) == nil
    }

    /// Less changes no decision.
    private static let leastProbability = 0.05
}

/// Words as texts in images are compared by: without case, and in most scripts without diacritics.
package enum TextWords {
    /// The words of a text; of scripts without spaces, pairs of letters.
    package static func words(of text: some StringProtocol) -> [String] {
        let normalized = String(text).precomposedStringWithCompatibilityMapping
        return normalized.split { !$0.isLetter && !$0.isNumber }.flatMap { run -> [String] in
            let scalars = Array(run.unicodeScalars)
            guard scalars.contains(where: SearchedWord.isUnspaced) else {
                return [TextFolding.folded(run)]
            }
            guard scalars.count > 1 else { return [String(run)] }
            return zip(scalars, scalars.dropFirst()).map { String(String.UnicodeScalarView([$0, $1])) }
        }
    }

    /// The letters of a word; one of a script without spaces counts as three, and a number has three more.
    package static func length(of word: String) -> Int {
        let isNumber = word.allSatisfy(\.isNumber) || romanNumerals.contains(word)
        return word.unicodeScalars.reduce(isNumber ? 3 : 0) { $0 + (SearchedWord.isUnspaced($1) ? 3 : 1) }
    }

    private static let romanNumerals: Set = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"]

    /// What a word tells, in natural logarithms.
    package static func information(length: Int, count: Int, entityCount: Int) -> Double {
        let rarity = log(Double(entityCount + 1_000) / Double(max(count, 1)))
        return max(0, min(rarity, 1.5 * Double(length - 2)))
    }

    /// What a word tells less if a letter was misread.
    static let costOfALetter = 2.0

    /// Whether what was read may be a word of five letters and more: with one wrong letter, one more or less, or
    /// without the spaces around it.
    static func isMisread(_ read: String, of word: String) -> Bool {
        let (a, b) = (Array(read.unicodeScalars), Array(word.unicodeScalars))
        guard b.count >= 5 else { return false }
        if read.contains(word) { return true }
        guard a.count >= 5, abs(a.count - b.count) <= 1 else { return false }
        let (short, long) = a.count <= b.count ? (a, b) : (b, a)
        let start = zip(short, long).prefix { $0 == $1 }.count
        return short.dropFirst(a.count == b.count ? start + 1 : start).elementsEqual(long.dropFirst(start + 1))
    }
}
