import Foundation

/// What a tokenizer does with a text before it splits it.
indirect enum Normalizer: Sendable {
    typealias Text = [Unicode.Scalar]

    case sequence([Normalizer])
    case canonicalComposition, canonicalDecomposition, compatibilityComposition, compatibilityDecomposition
    case lowercase
    case strip(left: Bool, right: Bool, spacesAlone: Bool)
    case stripAccents
    case prepend(Text)
    case replace(ScalarPattern, with: Text)
    case bert(cleans: Bool, spacesIdeographs: Bool, stripsAccents: Bool, lowercases: Bool)
    case nmt
    case precompiled(CharacterMap)

    init(_ json: JSON) throws(TokenizerError) {
        switch json.type {
        case "Sequence":
            var steps: [Normalizer] = []
            for step in json["normalizers"]?.array ?? [] { steps.append(try Normalizer(step)) }
            self = .sequence(steps)
        case "NFC": self = .canonicalComposition
        case "NFD": self = .canonicalDecomposition
        case "NFKC": self = .compatibilityComposition
        case "NFKD": self = .compatibilityDecomposition
        case "Lowercase": self = .lowercase
        case "Strip":
            self = .strip(
                left: json["strip_left"]?.bool ?? true, right: json["strip_right"]?.bool ?? true,
                spacesAlone: json["strips_spaces_alone"]?.bool ?? false)
        case "StripAccents": self = .stripAccents
        case "Prepend": self = .prepend(try json.text("prepend"))
        case "Replace": self = .replace(try json.pattern("pattern"), with: try json.text("content"))
        case "BertNormalizer":
            let lowercases = json["lowercase"]?.bool ?? true
            self = .bert(
                cleans: json["clean_text"]?.bool ?? true,
                spacesIdeographs: json["handle_chinese_chars"]?.bool ?? true,
                stripsAccents: json["strip_accents"]?.bool ?? lowercases, lowercases: lowercases)
        case "Nmt": self = .nmt
        case "Precompiled":
            guard let map = json["precompiled_charsmap"]?.string, let data = Data(base64Encoded: map) else {
                throw .malformed("its precompiled_charsmap is not base64")
            }
            self = .precompiled(
                try CharacterMap(data, takesLongest: json["takes_longest"]?.bool ?? false))
        case let type: throw .unsupported("the normalizer “\(type)”")
        }
    }

    func normalized(_ text: Text) -> Text {
        switch self {
        case .sequence(let steps): return steps.reduce(text) { $1.normalized($0) }
        case .canonicalComposition: return NormalForm.composed(NormalForm.decomposed(text))
        case .canonicalDecomposition: return NormalForm.decomposed(text)
        case .compatibilityComposition: return NormalForm.composed(NormalForm.decomposed(text, isCompatible: true))
        case .compatibilityDecomposition: return NormalForm.decomposed(text, isCompatible: true)
        case .lowercase: return Self.lowercased(text)
        case .strip(let left, let right, let spacesAlone):
            func isSpace(_ scalar: Unicode.Scalar) -> Bool {
                spacesAlone ? scalar == " " : scalar.properties.isWhitespace
            }
            var part = text[...]
            if left { part = part.drop(while: isSpace) }
            while right, let last = part.last, isSpace(last) { part.removeLast() }
            return Array(part)
        case .stripAccents:
            let marks = Unicode.GeneralCategory.named("M")
            return text.filter { $0.isASCII || !marks.contains($0.properties.generalCategory) }
        case .prepend(let prefix): return text.isEmpty ? text : prefix + text
        case .replace(let pattern, let replacement):
            var (result, end): (Text, Int) = ([], 0)
            for match in pattern.matches(in: text[...]) {
                result += text[end..<match.lowerBound] + replacement
                end = match.upperBound
            }
            return result + text[end...]
        case .bert(let cleans, let spacesIdeographs, let stripsAccents, let lowercases):
            var text = cleans ? Self.cleaned(text) : text
            if spacesIdeographs {
                text = text.flatMap { Self.isIdeograph($0) ? [" ", $0, " "] : [$0] }
            }
            if stripsAccents {
                text = NormalForm.decomposed(text)
                    .filter { $0.isASCII || $0.properties.generalCategory != .nonspacingMark }
            }
            return lowercases ? Self.lowercased(text) : text
        case .nmt:
            return text.compactMap { scalar in
                switch scalar.value {
                case 0x1...0x8, 0xb, 0xe...0x1f, 0x7f, 0x8f, 0x9f: nil
                case 0x9, 0xa, 0xc, 0xd, 0x1680, 0x200b...0x200f, 0x2028, 0x2029, 0x2581, 0xfeff, 0xfffd: " "
                default: scalar
                }
            }
        case .precompiled(let map): return map.mapped(text)
        }
    }

    private static func lowercased(_ text: Text) -> Text {
        text.flatMap { scalar -> Text in
            guard !scalar.isASCII else {
                return [("A"..."Z").contains(scalar) ? Unicode.Scalar(UInt8(scalar.value + 32)) : scalar]
            }
            return Array(scalar.properties.lowercaseMapping.unicodeScalars)
        }
    }

    private static func cleaned(_ text: Text) -> Text {
        text.compactMap { scalar in
            switch scalar {
            case "\t", "\n", "\r": return " "
            case "\u{fffd}": return nil
            default: break
            }
            switch scalar.properties.generalCategory {
            case .control, .format, .privateUse: return nil
            default: return scalar.properties.isWhitespace ? " " : scalar
            }
        }
    }

    private static func isIdeograph(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x4e00...0x9fff, 0x3400...0x4dbf, 0x20000...0x2a6df, 0x2a700...0x2b73f, 0x2b740...0x2b81f,
            0x2b920...0x2ceaf, 0xf900...0xfaff, 0x2f800...0x2fa1f:
            true
        default: false
        }
    }
}

extension String {
    init(_ scalars: some Sequence<Unicode.Scalar>) {
        self.init(String.UnicodeScalarView(scalars))
    }
}

extension JSON {
    /// A string as scalars.
    func text(_ key: String) throws(TokenizerError) -> [Unicode.Scalar] {
        guard let string = self[key]?.string else { throw .malformed("“\(type)” lacks “\(key)”") }
        return Array(string.unicodeScalars)
    }

    /// What a key says to look for: a string, or a regular expression.
    func pattern(_ key: String) throws(TokenizerError) -> ScalarPattern {
        if let string = self[key]?["String"]?.string { return ScalarPattern(literal: Array(string.unicodeScalars)) }
        guard let pattern = self[key]?["Regex"]?.string else { throw .malformed("“\(type)” lacks “\(key)”") }
        return try ScalarPattern(pattern)
    }
}

/// SentencePiece's map of characters, and of a few sequences of them, to others: a trie in a double array, whose leaves
/// say where in a list of strings the replacement is (https://github.com/s-yata/darts-clone).
struct CharacterMap: Sendable {
    private let units: [UInt32]
    private let strings: [UInt8]
    /// Whether the longest sequence is replaced, as SentencePiece does. Hugging Face's library takes clusters of less
    /// than six bytes, or single characters, and the shortest sequence that they begin with.
    private let takesLongest: Bool

    init(_ data: Data, takesLongest: Bool) throws(TokenizerError) {
        let bytes = [UInt8](data)
        func integer(_ place: Int) -> UInt32 {
            bytes[place..<(place + 4)].reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
        let size = bytes.count >= 4 ? Int(integer(0)) : -1
        guard size > 0, size % 4 == 0, size <= bytes.count - 4 else {
            throw .malformed("its precompiled_charsmap is truncated")
        }
        units = stride(from: 4, to: 4 + size, by: 4).map(integer)
        strings = Array(bytes[(4 + size)...])
        self.takesLongest = takesLongest
    }

    func mapped(_ text: [Unicode.Scalar]) -> [Unicode.Scalar] {
        if takesLongest {
            let bytes = Array(String(text).utf8)
            var result: [UInt8] = []
            var place = 0
            while place < bytes.count {
                if let (replacement, length) = replacement(bytes[place...]) {
                    result += replacement
                    place += length
                } else {
                    repeat {
                        result.append(bytes[place])
                        place += 1
                    } while place < bytes.count && bytes[place] & 0xc0 == 0x80
                }
            }
            return Array(String(decoding: result, as: UTF8.self).unicodeScalars)
        }
        var result: [Unicode.Scalar] = []
        for cluster in String(text) {
            let bytes = Array(cluster.utf8)
            if bytes.count < 6, let (replacement, _) = replacement(bytes[...]) {
                result += String(decoding: replacement, as: UTF8.self).unicodeScalars
                continue
            }
            for scalar in cluster.unicodeScalars {
                if let (replacement, _) = replacement(Array(String(scalar).utf8)[...]) {
                    result += String(decoding: replacement, as: UTF8.self).unicodeScalars
                } else {
                    result.append(scalar)
                }
            }
        }
        return result
    }

    /// What replaces the longest, or the shortest, sequence that the bytes begin with, and how long that is.
    private func replacement(_ bytes: ArraySlice<UInt8>) -> (ArraySlice<UInt8>, length: Int)? {
        func offset(_ unit: UInt32) -> Int { Int(unit >> 10) << Int((unit & (1 << 9)) >> 6) }
        var found: (ArraySlice<UInt8>, length: Int)?
        var node = offset(units[0])
        for (index, byte) in bytes.enumerated() {
            node ^= Int(byte)
            guard byte != 0, node < units.count, units[node] & (1 << 31 | 0xff) == UInt32(byte) else { break }
            let unit = units[node]
            node ^= offset(unit)
            guard (unit >> 8) & 1 == 1, node < units.count else { continue }
            let start = Int(units[node] & 0x7fff_ffff)
            guard start <= strings.count else { break }
            found = (strings[start...].prefix { $0 != 0 }, index + 1)
            if !takesLongest { break }
        }
        return found
    }
}
