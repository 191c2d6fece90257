package import Foundation

/// A tokenizer as people have it, made one file in the format of `tokenizer.json`.
///
/// The vocabulary is a `tokenizer.json`, a `vocab.json` with `merges.txt` beside it, CLIP's
/// `bpe_simple_vocab_16e6.txt`, a `vocab.txt` of BERT, or a unigram model of SentencePiece. `tokenizer_config.json`,
/// `special_tokens_map.json` and `open_clip_config.json` beside it say what it does not.
package struct TokenizerFiles {
    private var json: JSON

    /// The names of vocabularies that are looked for in a folder, the first that is there.
    package static let names = [
        "tokenizer.json", "vocab.json", "vocab.txt", "spiece.model", "sentencepiece.model", "tokenizer.model",
        "bpe_simple_vocab_16e6.txt.gz", "bpe_simple_vocab_16e6.txt",
    ]

    /// - Parameters:
    ///   - name: the name of the vocabulary's file.
    ///   - data: its bytes.
    ///   - beside: the bytes of another file beside it; nil for one that is missing.
    package init(_ name: String, _ data: Data, beside: (String) -> Data?) throws(TokenizerError) {
        func settings(_ name: String) throws(TokenizerError) -> JSON? { try beside(name).map(JSON.init) }
        let config = try settings("tokenizer_config.json")
        let openCLIP = try settings("open_clip_config.json")?["model_cfg"]?["text_cfg"]
        if name.hasSuffix(".json") {
            let json = try JSON(data)
            if json["model"] != nil {
                self.json = json
            } else {
                guard let merges = beside("merges.txt") else { throw .malformed("it has no merges.txt beside it") }
                let lines = Self.lines(merges).filter { !$0.starts(with: "#version".utf8) }
                self.json = try Self.clip(vocabulary: json, merges: lines)
            }
        } else if name.hasSuffix(".model") {
            json = try Self.sentencePiece(data, config)
        } else if data.starts(with: "\"bpe_simple_vocab".utf8) {
            self.json = try Self.clip(lines: Self.lines(data))
        } else {
            self.json = try Self.bert(Self.lines(data), lowercases: config?["do_lower_case"]?.bool ?? true)
        }
        if let clean = openCLIP?["tokenizer_kwargs"]?["clean"]?.string { try self.clean(clean) }
        let ids = try Self.ids(of: json)
        if json["padding"] == nil {
            let named = [config, try settings("special_tokens_map.json")].compactMap { settings -> [UInt8]? in
                settings?["pad_token"]?.bytes ?? settings?["pad_token"]?["content"]?.bytes
            }
            let usual = ["[PAD]", "<pad>", "<|endoftext|>"].map { Array($0.utf8) }
            if let id = (named + usual).lazy.compactMap({ ids[$0] }).first {
                json = json.setting("padding", to: ["strategy": "BatchLongest", "pad_id": .number(Double(id))])
            }
        }
        let longest = openCLIP?["context_length"]?.integer ?? config?["model_max_length"]?.integer
        // Hugging Face writes 10³⁰ for none.
        if json["truncation"] == nil, let longest, longest <= 100_000 {
            json = json.setting("truncation", to: ["max_length": .number(Double(longest))])
        }
    }

    /// The bytes of a `tokenizer.json`.
    package var data: Data { json.data }

    private static func lines(_ data: Data) -> [ArraySlice<UInt8>] {
        var lines = [UInt8](data).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
    }

    private static func ids(of json: JSON) throws(TokenizerError) -> [[UInt8]: Int] {
        var ids: [[UInt8]: Int] = [:]
        for (piece, id) in json["model"]?["vocab"]?.object ?? [] { ids[piece] = id.integer }
        for (id, piece) in (json["model"]?["vocab"]?.array ?? []).enumerated() {
            if let bytes = piece.array?.first?.bytes { ids[bytes] = id }
        }
        for token in json["added_tokens"]?.array ?? [] {
            if let bytes = token["content"]?.bytes { ids[bytes] = token["id"]?.integer }
        }
        return ids
    }

    private static func special(_ content: String, _ id: Int) -> JSON {
        ["id": .number(Double(id)), "content": JSON(stringLiteral: content), "special": true]
    }

    /// What open_clip does with a text before its tokenizer reads it; spaces first and last are removed.
    private mutating func clean(_ name: String) throws(TokenizerError) {
        var steps: [JSON] = []
        switch name {
        case "whitespace": break
        case "lower": steps = [["type": "Lowercase"]]
        case "canonicalize":
            steps = [
                ["type": "Replace", "pattern": ["String": "_"], "content": " "], Self.removesPunctuation,
                ["type": "Lowercase"],
            ]
        default: throw .unsupported("“clean”: “\(name)” in its open_clip_config.json")
        }
        steps += Self.cleansSpaces
        if let normalizer = json["normalizer"] { steps.append(normalizer) }
        json = json.setting("normalizer", to: ["type": "Sequence", "normalizers": .array(steps)])
    }

    private static let removesPunctuation: JSON = [
        "type": "Replace", "pattern": ["Regex": #"[!-/:-@\[-`{-~]"#], "content": "",
    ]
    private static let joinsSpaces: JSON = ["type": "Replace", "pattern": ["Regex": #"\s+"#], "content": " "]
    /// As Python does, for which separators of information are spaces, too.
    private static let cleansSpaces: [JSON] = [
        ["type": "Replace", "pattern": ["Regex": "[\\s\u{1c}-\u{1f}]+"], "content": " "], ["type": "Strip"],
    ]

    // MARK: CLIP

    /// The tokenizer of CLIP, as Hugging Face's library has it.
    private static func clip(vocabulary: JSON, merges: [ArraySlice<UInt8>]) throws(TokenizerError) -> JSON {
        let names = [("<|startoftext|>", "<|endoftext|>"), ("<start_of_text>", "<end_of_text>")]
        guard let (start, end) = names.first(where: { vocabulary[$0.0] != nil && vocabulary[$0.1] != nil }),
            let first = vocabulary[start]?.integer, let last = vocabulary[end]?.integer
        else {
            throw .unsupported(
                "a vocabulary with merges and without “<|startoftext|>” and “<|endoftext|>” of CLIP")
        }
        let pattern = #"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"#
        return [
            "added_tokens": [special(start, first), special(end, last)],
            "normalizer": [
                "type": "Sequence",
                "normalizers": [["type": "NFC"], joinsSpaces, ["type": "Lowercase"]],
            ],
            "pre_tokenizer": [
                "type": "Sequence",
                "pretokenizers": [
                    [
                        "type": "Split", "pattern": ["Regex": JSON(stringLiteral: pattern)], "behavior": "Removed",
                        "invert": true,
                    ],
                    ["type": "ByteLevel", "add_prefix_space": false, "use_regex": false],
                ],
            ],
            "post_processor": [
                "type": "RobertaProcessing", "cls": [JSON(stringLiteral: start), .number(Double(first))],
                "sep": [JSON(stringLiteral: end), .number(Double(last))],
            ],
            "padding": ["strategy": "BatchLongest", "pad_id": start == names[0].0 ? .number(Double(last)) : 0],
            "model": [
                "type": "BPE", "unk_token": JSON(stringLiteral: end), "end_of_word_suffix": "</w>",
                "vocab": vocabulary, "merges": .array(merges.map { .string(Array($0)) }),
            ],
        ]
    }

    /// `bpe_simple_vocab_16e6.txt`: a line about the file, and merges, of which CLIP takes the first 48,894.
    private static func clip(lines: [ArraySlice<UInt8>]) throws(TokenizerError) -> JSON {
        let merges = Array(lines.dropFirst().prefix(49152 - 256 - 2))
        // The bytes that can be seen come first.
        let characters = PreTokenizer.characters.sorted {
            ($0.value > 0xff ? 1 : 0, $0.value) < ($1.value > 0xff ? 1 : 0, $1.value)
        }
        .map { Array(String($0).utf8) }
        var pieces = characters + characters.map { $0 + Array("</w>".utf8) }
        for (index, merge) in merges.enumerated() {
            let pair = merge.split(separator: UInt8(ascii: " "))
            guard pair.count == 2 else { throw .malformed("its line \(index + 2) is not two pieces") }
            pieces.append(Array(pair[0] + pair[1]))
        }
        pieces += ["<start_of_text>", "<end_of_text>"].map { Array($0.utf8) }
        let vocabulary = JSON.object(pieces.enumerated().map { ($0.element, .number(Double($0.offset))) })
        return try clip(vocabulary: vocabulary, merges: merges)
    }

    // MARK: BERT

    private static func bert(_ lines: [ArraySlice<UInt8>], lowercases: Bool) throws(TokenizerError) -> JSON {
        var ids: [[UInt8]: Int] = [:]
        for (id, line) in lines.enumerated() { ids[Array(line)] = id }
        let names = ["[UNK]", "[CLS]", "[SEP]"]
        let numbers = names.compactMap { ids[Array($0.utf8)] }
        guard numbers.count == names.count else {
            throw .unsupported("a vocabulary of lines without [UNK], [CLS] and [SEP] of BERT")
        }
        return [
            "added_tokens": .array(
                (names + ["[PAD]", "[MASK]"]).compactMap { name in ids[Array(name.utf8)].map { special(name, $0) } }),
            "normalizer": ["type": "BertNormalizer", "lowercase": .bool(lowercases)],
            "pre_tokenizer": ["type": "BertPreTokenizer"],
            "post_processor": [
                "type": "BertProcessing", "cls": ["[CLS]", .number(Double(numbers[1]))],
                "sep": ["[SEP]", .number(Double(numbers[2]))],
            ],
            "model": [
                "type": "WordPiece", "unk_token": "[UNK]",
                "vocab": .object(lines.enumerated().map { (Array($0.element), .number(Double($0.offset))) }),
            ],
        ]
    }

    // MARK: SentencePiece

    /// A unigram model of SentencePiece: a protocol buffer with pieces (1), what it was trained for (2), and how texts
    /// are normalized (3), https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto.
    private static func sentencePiece(_ data: Data, _ config: JSON?) throws(TokenizerError) -> JSON {
        let model = try ProtocolBuffer([UInt8](data)[...])
        var vocabulary: [JSON] = []
        var added: [JSON] = []
        var unknown: Int?
        for bytes in model.messages[1] ?? [] {
            let piece = try ProtocolBuffer(bytes)
            let text = Array(piece.messages[1]?.last ?? [])
            let kind = piece.numbers[3] ?? 1
            if kind == 2 { unknown = vocabulary.count }
            guard kind != 4 else { throw .unsupported("pieces that its users defined") }
            if kind == 3 { added.append(special(String(decoding: text, as: UTF8.self), vocabulary.count)) }
            let score = Float(bitPattern: UInt32(truncatingIfNeeded: piece.numbers[2] ?? 0))
            // What stands for no text has no score.
            vocabulary.append([.string(kind == 1 || kind == 6 ? text : []), .number(Double(score))])
        }
        let trainer = try ProtocolBuffer(model.messages[2]?.last ?? [])
        let rules = try ProtocolBuffer(model.messages[3]?.last ?? [])
        guard let unknown, trainer.numbers[3] ?? 1 == 1 else {
            throw .unsupported("a SentencePiece model other than unigram")
        }
        guard rules.numbers[5] ?? 1 == 1, trainer.numbers[24] ?? 0 == 0 else {
            throw .unsupported("a SentencePiece model with spaces at the ends of pieces")
        }
        var steps: [JSON] = []
        if config?["tokenizer_class"]?.string?.hasPrefix("Siglip") == true {
            if config?["do_lower_case"]?.bool ?? true { steps.append(["type": "Lowercase"]) }
            steps += [removesPunctuation] + cleansSpaces
        }
        if let map = rules.messages[2]?.last, !map.isEmpty {
            steps.append([
                "type": "Precompiled", "takes_longest": true,
                "precompiled_charsmap": JSON(stringLiteral: Data(map).base64EncodedString()),
            ])
        }
        if rules.numbers[4] ?? 1 != 0 {
            steps += [
                ["type": "Replace", "pattern": ["Regex": " {2,}"], "content": " "],
                ["type": "Strip", "strips_spaces_alone": true],
            ]
        }
        let prepends: JSON = rules.numbers[3] ?? 1 != 0 ? "always" : "never"
        let end = Int(truncatingIfNeeded: trainer.numbers[42] ?? 2)
        let hasEnd = config?["add_eos_token"]?.bool ?? true && added.contains { $0["id"]?.integer == end }
        return [
            "added_tokens": .array(added),
            "normalizer": ["type": "Sequence", "normalizers": .array(steps)],
            "pre_tokenizer": ["type": "Metaspace", "replacement": "▁", "prepend_scheme": prepends, "split": false],
            "post_processor": hasEnd
                ? [
                    "type": "TemplateProcessing",
                    "single": [["Sequence": ["id": "A"]], ["SpecialToken": ["id": "end"]]],
                    "special_tokens": ["end": ["ids": [.number(Double(end))]]],
                ] : .null,
            "model": [
                "type": "Unigram", "unk_id": .number(Double(unknown)), "vocab": .array(vocabulary),
                "byte_fallback": .bool(trainer.numbers[35] ?? 0 != 0),
            ],
        ]
    }
}

/// The fields of a message, by number: the last number of each, and all parts that have a length.
private struct ProtocolBuffer {
    private(set) var numbers: [Int: UInt64] = [:]
    private(set) var messages: [Int: [ArraySlice<UInt8>]] = [:]

    init(_ bytes: ArraySlice<UInt8>) throws(TokenizerError) {
        var rest = bytes
        func integer() throws(TokenizerError) -> UInt64 {
            var (result, shift): (UInt64, UInt64) = (0, 0)
            while let byte = rest.popFirst(), shift < 64 {
                result |= UInt64(byte & 0x7f) << shift
                if byte < 0x80 { return result }
                shift += 7
            }
            throw .malformed("it is no model of SentencePiece")
        }
        func part(_ count: UInt64) throws(TokenizerError) -> ArraySlice<UInt8> {
            guard count <= rest.count else { throw .malformed("it is a truncated model of SentencePiece") }
            defer { rest = rest.dropFirst(Int(count)) }
            return rest.prefix(Int(count))
        }
        while !rest.isEmpty {
            let key = try integer()
            let field = Int(truncatingIfNeeded: key >> 3)
            switch key & 7 {
            case 0: numbers[field] = try integer()
            case 1: numbers[field] = try part(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
            case 2: messages[field, default: []].append(try part(try integer()))
            case 5: numbers[field] = try part(4).reversed().reduce(0) { $0 << 8 | UInt64($1) }
            default: throw .malformed("it is no model of SentencePiece")
            }
        }
    }
}
