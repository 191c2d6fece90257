package import Foundation

/// Turns a text into the numbers that a text tower reads, as a file in the format of Hugging Face's `tokenizer.json`
/// says: how the text is normalized and split into words, how words become pieces, and what stands around them.
///
/// What a file asks for that this type does not know is an error that names it.
package struct Tokenizer: Sendable {
    /// A piece that is looked for in the text before all else.
    private struct AddedToken: Sendable {
        let content: [Unicode.Scalar]
        let id: Int32
        let isNormalized: Bool
        let takesSpaceBefore: Bool
        let takesSpaceAfter: Bool
    }

    private enum Model: Sendable {
        case bytePairs(BytePairEncoding)
        case unigram(Unigram)
        case wordPieces(WordPieces)
    }

    private let added: [AddedToken]
    private let normalizer: Normalizer?
    private let preTokenizer: PreTokenizer?
    private let model: Model
    private let before: [Int32]
    private let after: [Int32]

    /// The number of pieces, the largest number plus one.
    package let count: Int
    /// What fills the rest of the input; nil if the file does not say.
    package let padding: Int?
    /// The length that texts are cut to, and padded to; nil if the file does not say.
    package let length: Int?

    /// What the algorithm is called.
    package var kind: String {
        switch model {
        case .bytePairs: "byte pair encoding"
        case .unigram: "unigram"
        case .wordPieces: "word pieces"
        }
    }

    /// Reads a `tokenizer.json`.
    package init(_ data: Data) throws(TokenizerError) { try self.init(JSON(data)) }

    init(_ json: JSON) throws(TokenizerError) {
        guard let model = json["model"] else { throw .malformed("it has no model") }
        let vocabulary = try Vocabulary(model)
        switch model.type {
        case "BPE": self.model = .bytePairs(try BytePairEncoding(model, vocabulary))
        case "Unigram": self.model = .unigram(try Unigram(model, vocabulary))
        case "WordPiece": self.model = .wordPieces(try WordPieces(model, vocabulary))
        case let type: throw .unsupported("the model “\(type)”")
        }
        let normalizer = try json["normalizer"].map { json throws(TokenizerError) in try Normalizer(json) }
        self.normalizer = normalizer
        var added: [AddedToken] = []
        for token in json["added_tokens"]?.array ?? [] {
            guard let id = token["id"]?.integer.flatMap(Int32.init(exactly:)), id >= 0,
                token["content"] != nil
            else { throw .malformed("an added token lacks its id or its content") }
            if token["single_word"]?.bool == true { throw .unsupported("an added token that is a single word") }
            let content = try token.text("content")
            let isNormalized = token["normalized"]?.bool ?? false
            added.append(
                AddedToken(
                    content: isNormalized ? normalizer?.normalized(content) ?? content : content, id: id,
                    isNormalized: isNormalized,
                    takesSpaceBefore: token["lstrip"]?.bool ?? false, takesSpaceAfter: token["rstrip"]?.bool ?? false))
        }
        // Of the added tokens that begin at the same place the longest is taken.
        self.added = added.filter { !$0.content.isEmpty }.sorted { $0.content.count > $1.content.count }
        preTokenizer = try json["pre_tokenizer"].map { json throws(TokenizerError) in try PreTokenizer(json) }
        (before, after) = try Self.template(json["post_processor"])
        let count = max(vocabulary.count, (added.map { Int($0.id) }.max() ?? -1) + 1)
        guard (before + after).allSatisfy({ (0..<Int32(count)).contains($0) }) else {
            throw .malformed("its post-processor adds pieces that it does not have")
        }
        if let direction = json["padding"]?["direction"]?.string ?? json["truncation"]?["direction"]?.string,
            direction != "Right"
        {
            throw .unsupported("padding or truncation in the direction “\(direction)”")
        }
        let padding = json["padding"]?["pad_id"]?.integer
        let length = json["padding"]?["strategy"]?["Fixed"]?.integer ?? json["truncation"]?["max_length"]?.integer
        guard padding.map({ (0..<count).contains($0) }) ?? true, length.map({ $0 > 0 }) ?? true else {
            throw .malformed("its padding or its length is not possible")
        }
        (self.count, self.padding, self.length) = (count, padding, length)
    }

    /// What stands before a text and after it.
    private static func template(_ json: JSON?) throws(TokenizerError) -> (before: [Int32], after: [Int32]) {
        guard let json else { return ([], []) }
        func id(_ json: JSON?) throws(TokenizerError) -> Int32 {
            guard let id = json?.integer.flatMap(Int32.init(exactly:)) else {
                throw .malformed("its post-processor adds what has no number")
            }
            return id
        }
        switch json.type {
        case "ByteLevel": return ([], [])
        case "BertProcessing", "RobertaProcessing":
            return ([try id(json["cls"]?.array?.last)], [try id(json["sep"]?.array?.last)])
        case "Sequence":
            var (before, after): ([Int32], [Int32]) = ([], [])
            for part in json["processors"]?.array ?? [] {
                let inner = try template(part)
                (before, after) = (inner.before + before, after + inner.after)
            }
            return (before, after)
        case "TemplateProcessing":
            var parts: [[Int32]] = [[]]
            for part in json["single"]?.array ?? [] {
                if part["Sequence"] != nil {
                    parts.append([])
                } else if let name = part["SpecialToken"]?["id"]?.string {
                    for number in json["special_tokens"]?[name]?["ids"]?.array ?? [] {
                        parts[parts.count - 1].append(try id(number))
                    }
                }
            }
            guard parts.count == 2 else { throw .malformed("its template does not have one text") }
            return (parts[0], parts[1])
        case let type: throw .unsupported("the post-processor “\(type)”")
        }
    }

    /// The numbers of a text, cut to a length, with what stands around it.
    ///
    /// - Parameter length: the most numbers; nil for all of them.
    /// - Complexity: O(n log n) in the length of the text.
    package func ids(of text: String, length: Int? = nil) -> [Int32] {
        let most = length.map { max(0, $0 - before.count - after.count) } ?? .max
        var ids: [Int32] = []
        for (part, id) in parts(of: Array(text.unicodeScalars)[...], areNormalized: false) where ids.count < most {
            if let id {
                ids.append(id)
                continue
            }
            let isFirst = part.startIndex == 0
            let normalized = normalizer?.normalized(Array(part)) ?? Array(part)
            for (part, id) in parts(of: normalized[...], areNormalized: true) where ids.count < most {
                if let id {
                    ids.append(id)
                } else {
                    let text = Array(part)
                    let words =
                        preTokenizer?.words(of: text, isFirst: isFirst && part.startIndex == 0) ?? [text]
                    for word in words where ids.count < most { ids += self.ids(ofWord: word) }
                }
            }
        }
        let all = before + ids.prefix(most) + after
        return Array(all.prefix(length ?? all.count))
    }

    private func ids(ofWord word: [Unicode.Scalar]) -> [Int32] {
        switch model {
        case .bytePairs(let model): model.ids(of: word)
        case .unigram(let model): model.ids(of: word)
        case .wordPieces(let model): model.ids(of: word)
        }
    }

    /// The parts between added tokens, and those tokens.
    private func parts(
        of text: ArraySlice<Unicode.Scalar>, areNormalized: Bool
    ) -> [(part: ArraySlice<Unicode.Scalar>, id: Int32?)] {
        let tokens = added.filter { $0.isNormalized == areNormalized }
        let firsts = Set(tokens.map { $0.content[0] })
        var parts: [(part: ArraySlice<Unicode.Scalar>, id: Int32?)] = []
        var (start, place) = (text.startIndex, text.startIndex)
        while place < text.endIndex {
            guard firsts.contains(text[place]),
                let token = tokens.first(where: { text[place...].starts(with: $0.content) })
            else {
                place += 1
                continue
            }
            var (from, to) = (place, place + token.content.count)
            while token.takesSpaceBefore, from > start, text[from - 1].properties.isWhitespace { from -= 1 }
            while token.takesSpaceAfter, to < text.endIndex, text[to].properties.isWhitespace { to += 1 }
            if from > start { parts.append((text[start..<from], nil)) }
            parts.append((text[from..<to], token.id))
            (start, place) = (to, to)
        }
        if start < text.endIndex { parts.append((text[start...], nil)) }
        return parts
    }
}

/// The numbers of pieces.
struct Vocabulary: Sendable {
    private let ids: [ArraySlice<UInt8>: Int32]
    let count: Int

    /// Reads `vocab`: an object of numbers, or an array of pieces with scores.
    init(_ json: JSON) throws(TokenizerError) {
        var ids: [ArraySlice<UInt8>: Int32] = [:]
        if let pieces = json["vocab"]?.array {
            for (id, piece) in pieces.enumerated() {
                guard let bytes = piece.array?.first?.bytes else { throw .malformed("piece \(id) has no text") }
                ids[bytes[...]] = Int32(id)
            }
        } else {
            for (piece, id) in json["vocab"]?.object ?? [] {
                guard let id = id.integer.flatMap(Int32.init(exactly:)), id >= 0 else {
                    throw .malformed("“\(String(decoding: piece, as: UTF8.self))” has no number")
                }
                ids[piece[...]] = id
            }
        }
        guard let last = ids.values.max() else { throw .malformed("its model has no vocabulary") }
        (self.ids, count) = (ids, Int(last) + 1)
    }

    subscript(_ piece: some Sequence<UInt8>) -> Int32? { ids[Array(piece)[...]] }
    subscript(_ piece: ArraySlice<UInt8>) -> Int32? { ids[piece] }

    /// The pieces that stand for single bytes; nil if it lacks one.
    func ids(ofBytes bytes: [UInt8]) -> [Int32]? {
        let ids = bytes.compactMap { byte in
            let digits = String(byte, radix: 16, uppercase: true)
            return self["<0x\(digits.count == 1 ? "0" : "")\(digits)>".utf8]
        }
        return ids.count == bytes.count ? ids : nil
    }
}

/// The longest piece that a word begins with, again and again (https://arxiv.org/abs/1810.04805).
struct WordPieces: Sendable {
    private let vocabulary: Vocabulary
    private let unknown: Int32
    private let prefix: [UInt8]
    private let longestWord: Int

    init(_ json: JSON, _ vocabulary: Vocabulary) throws(TokenizerError) {
        guard let unknown = vocabulary[json["unk_token"]?.bytes ?? Array("[UNK]".utf8)] else {
            throw .malformed("its vocabulary lacks the unk_token")
        }
        (self.vocabulary, self.unknown) = (vocabulary, unknown)
        prefix = json["continuing_subword_prefix"]?.bytes ?? Array("##".utf8)
        longestWord = json["max_input_chars_per_word"]?.integer ?? 100
    }

    func ids(of word: [Unicode.Scalar]) -> [Int32] {
        guard word.count <= longestWord else { return [unknown] }
        var ids: [Int32] = []
        var start = 0
        while start < word.count {
            let found = (start + 1...word.count).reversed().lazy.compactMap { end -> (id: Int32, end: Int)? in
                let piece = (start > 0 ? prefix : []) + Array(String(word[start..<end]).utf8)
                return vocabulary[piece].map { ($0, end) }
            }.first
            guard let found else { return [unknown] }
            ids.append(found.id)
            start = found.end
        }
        return ids
    }
}
