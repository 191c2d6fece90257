/// How a tokenizer splits a normalized text into words.
indirect enum PreTokenizer: Sendable {
    typealias Text = [Unicode.Scalar]

    enum Behavior: String, Sendable {
        case removed = "Removed"
        case isolated = "Isolated"
        case mergedWithPrevious = "MergedWithPrevious"
        case mergedWithNext = "MergedWithNext"
        case contiguous = "Contiguous"
    }

    enum Scheme: String, Sendable { case first, always, never }

    case sequence([PreTokenizer])
    /// Bytes become characters that can be printed.
    case bytes(ScalarPattern?, addsSpace: Bool)
    case split(ScalarPattern, Behavior, isInverted: Bool)
    case metaspace(Unicode.Scalar, Scheme, splits: Bool)

    /// The pattern of GPT-2.
    private static let words = #"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"#
    private static let punctuation = #"[!-/:-@\[-`{-~\p{P}]"#

    init(_ json: JSON) throws(TokenizerError) {
        func behavior() throws(TokenizerError) -> Behavior {
            let name = json["behavior"]?.string ?? "Isolated"
            guard let behavior = Behavior(rawValue: name) else { throw .unsupported("the behavior “\(name)”") }
            return behavior
        }
        switch json.type {
        case "Sequence":
            var steps: [PreTokenizer] = []
            for step in json["pretokenizers"]?.array ?? [] { steps.append(try PreTokenizer(step)) }
            self = .sequence(steps)
        case "ByteLevel":
            self = .bytes(
                json["use_regex"]?.bool ?? true ? try ScalarPattern(Self.words) : nil,
                addsSpace: json["add_prefix_space"]?.bool ?? true)
        case "Split":
            self = .split(try json.pattern("pattern"), try behavior(), isInverted: json["invert"]?.bool ?? false)
        case "Metaspace":
            let replacement = try json.text("replacement")
            let name =
                json["prepend_scheme"]?.string ?? (json["add_prefix_space"]?.bool ?? true ? "always" : "never")
            guard replacement.count == 1, let scheme = Scheme(rawValue: name) else {
                throw .unsupported("the prepend_scheme “\(name)”")
            }
            self = .metaspace(replacement[0], scheme, splits: json["split"]?.bool ?? true)
        case "Whitespace": self = .split(try ScalarPattern(#"\w+|[^\w\s]+"#), .removed, isInverted: true)
        case "WhitespaceSplit": self = .split(try ScalarPattern(#"\s"#), .removed, isInverted: false)
        case "BertPreTokenizer":
            self = .sequence([
                .split(try ScalarPattern(#"\s"#), .removed, isInverted: false),
                .split(try ScalarPattern(Self.punctuation), .isolated, isInverted: false),
            ])
        case "Punctuation": self = .split(try ScalarPattern(Self.punctuation), try behavior(), isInverted: false)
        case "Digits":
            let isolates = json["individual_digits"]?.bool ?? false
            self = .split(try ScalarPattern(#"\p{N}"#), isolates ? .isolated : .contiguous, isInverted: false)
        case let type: throw .unsupported("the pre-tokenizer “\(type)”")
        }
    }

    /// - Parameter isFirst: whether the text is the beginning of what was entered.
    func words(of text: Text, isFirst: Bool) -> [Text] {
        switch self {
        case .sequence(let steps):
            return steps.reduce([text]) { words, step in
                words.enumerated().flatMap { step.words(of: $1, isFirst: isFirst && $0 == 0) }
            }
        case .bytes(let pattern, let addsSpace):
            let text = addsSpace && !text.isEmpty && text.first != " " ? [" "] + text : text
            let words = pattern.map { Self.split(text, $0.matches(in: text[...]), .isolated) } ?? [text]
            return words.map { $0.flatMap { UTF8.encode($0).map { $0.map { Self.characters[Int($0)] } } ?? [] } }
        case .split(let pattern, let behavior, let isInverted):
            return Self.split(text, pattern.matches(in: text[...]), behavior, isInverted: isInverted)
        case .metaspace(let replacement, let scheme, let splits):
            var text = text.map { $0 == " " ? replacement : $0 }
            let prepends = scheme == .always || scheme == .first && isFirst
            if prepends, text.first != replacement { text.insert(replacement, at: 0) }
            guard splits else { return [text] }
            return Self.split(
                text, text.indices.filter { text[$0] == replacement }.map { $0..<($0 + 1) }, .mergedWithNext)
        }
    }

    /// The characters that stand for the 256 bytes: those of Latin-1 that can be seen, and for the others those from
    /// U+0100 on.
    static let characters: [Unicode.Scalar] = {
        var next: UInt32 = 0x100
        return (UInt32(0)..<256).map { byte in
            switch byte {
            case 0x21...0x7e, 0xa1...0xac, 0xae...0xff: return Unicode.Scalar(UInt8(byte))
            default:
                next += 1
                return Unicode.Scalar(next - 1) ?? " "
            }
        }
    }()

    /// The parts of a text that some matches divide, none of them empty.
    ///
    /// - Parameter isInverted: whether what lies between the matches counts as a match, and they do not.
    private static func split(
        _ text: Text, _ matches: [Range<Int>], _ behavior: Behavior, isInverted: Bool = false
    ) -> [Text] {
        var parts: [(range: Range<Int>, isMatch: Bool)] = []
        var end = 0
        for match in matches + [text.count..<text.count] {
            if match.lowerBound > end { parts.append((end..<match.lowerBound, isInverted)) }
            if !match.isEmpty { parts.append((match, !isInverted)) }
            end = match.upperBound
        }
        var ranges: [Range<Int>] = []
        var wasMatch = false
        for (range, isMatch) in parts where behavior != .removed || !isMatch {
            let joins =
                switch behavior {
                case .removed, .isolated: false
                case .mergedWithPrevious: isMatch && !wasMatch
                case .mergedWithNext: !isMatch && wasMatch
                case .contiguous: isMatch == wasMatch
                }
            if joins, let last = ranges.last {
                ranges[ranges.count - 1] = last.lowerBound..<range.upperBound
            } else {
                ranges.append(range)
            }
            wasMatch = isMatch
        }
        return ranges.map { Array(text[$0]) }
    }
}
