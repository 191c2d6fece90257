/// A regular expression as tokenizers have them: alternatives of sets of characters, each with how often it is
/// repeated, and what must or must not follow. It works on scalars.
///
/// Matching takes time in the square of a run at worst for a pattern that repeats overlapping sets, and is linear for
/// those that tokenizers have.
struct ScalarPattern: Sendable {
    private struct Item: Sendable {
        var set: ScalarSet
        var least = 1
        var most = 1
    }

    private struct Alternative: Sendable {
        var items: [Item] = []
        /// What follows, and whether it must or must not.
        var following: (set: ScalarSet, isWanted: Bool)?
        var isFixed: Bool { items.allSatisfy { $0.least == $0.most } && following == nil }
    }

    private let alternatives: [Alternative]

    init(literal: [Unicode.Scalar]) {
        alternatives = [Alternative(items: literal.map { Item(set: ScalarSet([.range($0.value...$0.value)])) })]
    }

    /// - Throws: `unsupported` for what regular expressions have and this type has not.
    init(_ pattern: String) throws(TokenizerError) {
        var parser = Parser(pattern: pattern)
        alternatives = try parser.alternatives(ignoresCase: false)
        guard parser.isAtEnd, alternatives.allSatisfy({ !$0.items.isEmpty }) else { throw parser.problem }
    }

    /// The matches in order, none of them empty.
    func matches(in text: ArraySlice<Unicode.Scalar>) -> [Range<Int>] {
        var matches: [Range<Int>] = []
        var place = text.startIndex
        while place < text.endIndex {
            if let end = match(in: text, at: place), end > place {
                matches.append(place..<end)
                place = end
            } else {
                place += 1
            }
        }
        return matches
    }

    /// The end of the match that starts at a place: that of the first alternative which matches.
    private func match(in text: ArraySlice<Unicode.Scalar>, at start: Int) -> Int? {
        for alternative in alternatives {
            if let end = match(alternative, alternative.items[...], in: text, at: start) { return end }
        }
        return nil
    }

    private func match(
        _ alternative: Alternative, _ items: ArraySlice<Item>, in text: ArraySlice<Unicode.Scalar>, at start: Int
    ) -> Int? {
        guard let item = items.first else {
            guard let (set, isWanted) = alternative.following else { return start }
            return (start < text.endIndex && set.contains(text[start])) == isWanted ? start : nil
        }
        var end = start
        while end < text.endIndex, end - start < item.most, item.set.contains(text[end]) { end += 1 }
        guard end - start >= item.least else { return nil }
        for place in stride(from: end, through: start + item.least, by: -1) {
            if let end = match(alternative, items.dropFirst(), in: text, at: place) { return end }
        }
        return nil
    }

    private struct Parser {
        let pattern: String
        let scalars: [Unicode.Scalar]
        var place = 0

        init(pattern: String) { (self.pattern, scalars) = (pattern, Array(pattern.unicodeScalars)) }

        var isAtEnd: Bool { place == scalars.count }
        var problem: TokenizerError { .unsupported("the regular expression “\(pattern)”") }

        mutating func take(_ text: String) -> Bool {
            guard scalars[place...].starts(with: text.unicodeScalars) else { return false }
            place += text.unicodeScalars.count
            return true
        }

        private mutating func next() throws(TokenizerError) -> Unicode.Scalar {
            guard !isAtEnd else { throw problem }
            place += 1
            return scalars[place - 1]
        }

        mutating func alternatives(ignoresCase: Bool) throws(TokenizerError) -> [Alternative] {
            var all: [Alternative] = []
            repeat { all += try sequence(ignoresCase) } while take("|")
            return all
        }

        /// The alternatives that a sequence stands for, since a group in it may have several.
        private mutating func sequence(_ ignoresCase: Bool) throws(TokenizerError) -> [Alternative] {
            var all = [Alternative()]
            while !isAtEnd, scalars[place] != "|", scalars[place] != ")" {
                // Nothing follows what must or must not follow.
                guard all.allSatisfy({ $0.following == nil }) else { throw problem }
                if take("(?!") || take("(?=") {
                    let isWanted = scalars[place - 1] == "="
                    let set = try set(ignoresCase)
                    guard take(")") else { throw problem }
                    for index in all.indices { all[index].following = (set, isWanted) }
                } else if scalars[place] == "(" {
                    let ignores = take("(?i:")
                    guard ignores || take("(?:") || take("("), all.allSatisfy(\.isFixed) else { throw problem }
                    let inner = try alternatives(ignoresCase: ignoresCase || ignores)
                    guard take(")"), isAtEnd || !"?*+{".unicodeScalars.contains(scalars[place]) else { throw problem }
                    all = all.flatMap { outer in
                        inner.map { Alternative(items: outer.items + $0.items, following: $0.following) }
                    }
                } else {
                    let item = try quantified(Item(set: try set(ignoresCase)))
                    for index in all.indices { all[index].items.append(item) }
                }
            }
            return all
        }

        private mutating func quantified(_ item: Item) throws(TokenizerError) -> Item {
            var item = item
            if take("+") {
                item.most = .max
            } else if take("*") {
                (item.least, item.most) = (0, .max)
            } else if take("?") {
                item.least = 0
            } else if take("{") {
                var text = ""
                while !take("}") { text.unicodeScalars.append(try next()) }
                let bounds = text.split(separator: ",", omittingEmptySubsequences: false)
                guard let least = Int(bounds[0]), bounds.count <= 2, least >= 0 else { throw problem }
                item.least = least
                item.most = bounds.count == 1 ? least : bounds[1].isEmpty ? .max : Int(bounds[1]) ?? -1
                guard item.most >= least else { throw problem }
            } else {
                return item
            }
            // Neither lazy nor possessive.
            guard isAtEnd || scalars[place] != "?" && scalars[place] != "+" else { throw problem }
            return item
        }

        private mutating func set(_ ignoresCase: Bool) throws(TokenizerError) -> ScalarSet {
            let first = try next()
            switch first {
            case "[": return try bracketed(ignoresCase)
            case "\\": return ScalarSet([try escaped()])
            case ".": return ScalarSet([.range(0x0a...0x0a)], isNegated: true)
            case "^", "$", "*", "+", "?", "{", "(", ")": throw problem
            default: return ScalarSet(Self.cases(first, ignoresCase))
            }
        }

        private static func cases(_ scalar: Unicode.Scalar, _ ignoresCase: Bool) -> [ScalarSet.Member] {
            guard ignoresCase else { return [.range(scalar.value...scalar.value)] }
            let properties = scalar.properties
            return [String(scalar), properties.lowercaseMapping, properties.uppercaseMapping].flatMap {
                $0.unicodeScalars.count == 1 ? $0.unicodeScalars.map { .range($0.value...$0.value) } : []
            }
        }

        private mutating func bracketed(_ ignoresCase: Bool) throws(TokenizerError) -> ScalarSet {
            let isNegated = take("^")
            var members: [ScalarSet.Member] = []
            repeat {
                let first = try next()
                guard first != "[", first != "&" || isAtEnd || scalars[place] != "&" else { throw problem }
                let member = first == "\\" ? try escaped() : .range(first.value...first.value)
                if case .range(let low) = member, place + 1 < scalars.count, scalars[place] == "-",
                    scalars[place + 1] != "]"
                {
                    place += 1
                    let last = try next()
                    guard case .range(let high) = last == "\\" ? try escaped() : .range(last.value...last.value),
                        low.lowerBound <= high.upperBound, !ignoresCase
                    else { throw problem }
                    members.append(.range(low.lowerBound...high.upperBound))
                } else if case .range = member, first != "\\" {
                    members += Self.cases(first, ignoresCase)
                } else {
                    members.append(member)
                }
            } while !take("]")
            return ScalarSet(members, isNegated: isNegated)
        }

        /// What follows a backslash.
        private mutating func escaped() throws(TokenizerError) -> ScalarSet.Member {
            let letter = try next()
            switch letter {
            case "s", "S": return .kind(.space, isNegated: letter == "S")
            case "d", "D": return .kind(.category([.decimalNumber]), isNegated: letter == "D")
            case "w", "W": return .kind(.word, isNegated: letter == "W")
            case "n": return .range(0x0a...0x0a)
            case "r": return .range(0x0d...0x0d)
            case "t": return .range(0x09...0x09)
            case "p", "P":
                var name = ""
                if take("{") {
                    while !take("}") { name.unicodeScalars.append(try next()) }
                } else {
                    name.unicodeScalars.append(try next())
                }
                let categories = Unicode.GeneralCategory.named(name)
                guard !name.isEmpty, !categories.isEmpty else { throw problem }
                return .kind(.category(categories), isNegated: letter == "P")
            case _ where letter.properties.isAlphabetic || ("0"..."9").contains(letter): throw problem
            default: return .range(letter.value...letter.value)
            }
        }
    }
}

/// A set of characters.
struct ScalarSet: Sendable {
    enum Kind: Sendable {
        case space, word
        case category([Unicode.GeneralCategory])

        func contains(_ scalar: Unicode.Scalar) -> Bool {
            switch self {
            case .space: scalar.properties.isWhitespace
            case .category(let categories): categories.contains(scalar.properties.generalCategory)
            case .word:
                scalar.properties.isAlphabetic || scalar.properties.isJoinControl
                    || [.nonspacingMark, .spacingMark, .enclosingMark, .decimalNumber, .connectorPunctuation]
                        .contains(scalar.properties.generalCategory)
            }
        }
    }

    enum Member: Sendable {
        case range(ClosedRange<UInt32>)
        case kind(Kind, isNegated: Bool)
    }

    private let members: [Member]
    private let isNegated: Bool
    private let ascii: [Bool]

    init(_ members: [Member], isNegated: Bool = false) {
        (self.members, self.isNegated) = (members, isNegated)
        ascii = (0..<128).map { Self.holds(Unicode.Scalar(UInt8($0)), members) != isNegated }
    }

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII ? ascii[Int(scalar.value)] : Self.holds(scalar, members) != isNegated
    }

    private static func holds(_ scalar: Unicode.Scalar, _ members: [Member]) -> Bool {
        members.contains {
            switch $0 {
            case .range(let range): range.contains(scalar.value)
            case .kind(let kind, let isNegated): kind.contains(scalar) != isNegated
            }
        }
    }
}

extension Unicode.GeneralCategory {
    /// The categories with their two letters.
    static let named: [(name: String, category: Self)] = [
        ("Lu", .uppercaseLetter), ("Ll", .lowercaseLetter), ("Lt", .titlecaseLetter), ("Lm", .modifierLetter),
        ("Lo", .otherLetter), ("Mn", .nonspacingMark), ("Mc", .spacingMark), ("Me", .enclosingMark),
        ("Nd", .decimalNumber), ("Nl", .letterNumber), ("No", .otherNumber), ("Pc", .connectorPunctuation),
        ("Pd", .dashPunctuation), ("Ps", .openPunctuation), ("Pe", .closePunctuation), ("Pi", .initialPunctuation),
        ("Pf", .finalPunctuation), ("Po", .otherPunctuation), ("Sm", .mathSymbol), ("Sc", .currencySymbol),
        ("Sk", .modifierSymbol), ("So", .otherSymbol), ("Zs", .spaceSeparator), ("Zl", .lineSeparator),
        ("Zp", .paragraphSeparator), ("Cc", .control), ("Cf", .format), ("Cs", .surrogate), ("Co", .privateUse),
        ("Cn", .unassigned),
    ]

    /// The categories whose abbreviations begin with a prefix, such as those of all letters with “L”.
    static func named(_ prefix: String) -> [Self] {
        named.filter { $0.name.hasPrefix(prefix) }.map(\.category)
    }
}
