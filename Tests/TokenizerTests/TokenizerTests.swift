import Foundation
import Testing
import Tokenizers

/// Small tokenizers of every kind, whose numbers are those of PyPI's tokenizers and sentencepiece: see
/// `make_fixtures.py`.
struct TokenizerTests {
    private struct Expected: Decodable {
        let lines: [String]
        let ids: [String: [[Int32]?]]
    }

    private static func file(_ name: String) throws -> Data {
        let url = try #require(Bundle.module.url(forResource: "Fixtures/\(name)", withExtension: nil))
        return try Data(contentsOf: url)
    }

    private static func tokenizer(_ name: String) throws -> Tokenizer {
        try Tokenizer(try file("\(name).json"))
    }

    private static func expectIDs(of name: String, _ tokenizer: Tokenizer) throws {
        let expected = try JSONDecoder().decode(Expected.self, from: try file("expected.json"))
        let all = try #require(expected.ids[name])
        for (line, ids) in zip(expected.lines, all) {
            // Padding is added by whoever knows the length.
            guard let ids else { continue }
            let own = tokenizer.ids(of: line, length: tokenizer.length)
            #expect(own == Array(ids.prefix(own.count)), "\(name): \(line)")
            #expect(ids.dropFirst(own.count).allSatisfy { $0 == tokenizer.padding.map(Int32.init) })
        }
    }

    @Test(arguments: ["clip", "byte-fallback", "unigram", "word-pieces", "others"])
    func givesTheNumbersOfHuggingFacesLibrary(name: String) throws {
        try Self.expectIDs(of: name, try Self.tokenizer(name))
    }

    @Test func readsAModelOfSentencePiece() throws {
        let files = try TokenizerFiles("spiece.model", Self.file("spiece.model")) { _ in nil }
        try Self.expectIDs(of: "sentence-piece", Tokenizer(files.data))
    }

    /// The parts of a `tokenizer.json` as older files.
    private static func vocabulary(of name: String) throws -> [String: Int] {
        let json = try JSONSerialization.jsonObject(with: file("\(name).json")) as? [String: Any]
        return try #require((json?["model"] as? [String: Any])?["vocab"] as? [String: Int])
    }

    @Test func readsVocabularyAndMerges() throws {
        let json = try JSONSerialization.jsonObject(with: Self.file("clip.json")) as? [String: Any]
        let model = try #require(json?["model"] as? [String: Any])
        let merges = try #require(model["merges"] as? [[String]]).map { $0.joined(separator: " ") }
        let beside = [
            "merges.txt": "#version: 0.2\n" + merges.joined(separator: "\n") + "\n",
            "tokenizer_config.json": #"{"model_max_length": 77, "pad_token": {"content": "<|endoftext|>"}}"#,
        ]
        let vocabulary = try JSONSerialization.data(withJSONObject: try #require(model["vocab"]))
        let files = try TokenizerFiles("vocab.json", vocabulary) { beside[$0].map { Data($0.utf8) } }
        let tokenizer = try Tokenizer(files.data)
        #expect(tokenizer.length == 77)
        #expect(tokenizer.padding == 1)
        #expect(tokenizer.ids(of: "aa a", length: 3).count == 3)
        let expected = try JSONDecoder().decode(Expected.self, from: Self.file("expected.json"))
        let all = try #require(expected.ids["clip"])
        for (line, ids) in zip(expected.lines, all) {
            #expect(tokenizer.ids(of: line) == ids, "\(line)")
            // Cut before the last piece.
            guard let ids, ids.count > 4 else { continue }
            #expect(tokenizer.ids(of: line, length: 4) == ids.prefix(3) + ids.suffix(1))
        }
    }

    @Test func readsLinesOfABERT() throws {
        let pieces = try Self.vocabulary(of: "word-pieces").sorted { $0.value < $1.value }.map(\.key)
        let data = Data(pieces.joined(separator: "\n").utf8)
        let tokenizer = try Tokenizer(try TokenizerFiles("vocab.txt", data) { _ in nil }.data)
        try Self.expectIDs(of: "word-pieces", tokenizer)
        #expect(tokenizer.padding == 0)
    }

    /// The order of CLIP's pieces is that of its merges, after those of single bytes.
    @Test func readsTheMergesOfCLIP() throws {
        let text = "\"bpe_simple_vocab_16e6.txt#version: 0.2\nl a\nla m\nlam p</w>\nr e\nre d</w>\n"
        let tokenizer = try Tokenizer(
            try TokenizerFiles("bpe_simple_vocab_16e6.txt", Data(text.utf8)) { _ in nil }.data)
        // Bytes that can be seen come first, so “!” is 0; 512 for single bytes, 5 merges, start and end.
        #expect(tokenizer.ids(of: "Red  lamp!") == [517, 516, 514, 256, 518])
        #expect(tokenizer.padding == 0)
        #expect(tokenizer.count == 519)
    }

    @Test func cleansTextsAsOpenCLIP() throws {
        let config =
            #"{"model_cfg": {"text_cfg": {"context_length": 7, "tokenizer_kwargs": {"clean": "canonicalize"}}}}"#
        let json = #"""
            {"pre_tokenizer": {"type": "WhitespaceSplit"},
             "model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "[PAD]": 1, "red": 2, "lamp": 3, "##s": 4}}}
            """#
        let files = try TokenizerFiles("tokenizer.json", Data(json.utf8)) {
            $0 == "open_clip_config.json" ? Data(config.utf8) : nil
        }
        let tokenizer = try Tokenizer(files.data)
        #expect(tokenizer.ids(of: "  Red_LAMP's! ") == [2, 3, 4])
        #expect(tokenizer.length == 7)
        #expect(tokenizer.padding == 1)
    }

    @Test func keepsPiecesThatAreCanonicallyEquivalent() throws {
        let json =
            #"{"model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "\u00e9": 1, "e\u0301": 2, "\ud83d\ude00": 3}}}"#
        let tokenizer = try Tokenizer(Data(json.utf8))
        #expect(tokenizer.ids(of: "\u{e9}") == [1])
        #expect(tokenizer.ids(of: "e\u{301}") == [2])
        #expect(tokenizer.ids(of: "😀") == [3])
    }

    @Test(arguments: [
        (#"{"type": "BPE", "vocab": {"a": 0}}"#, #""normalizer": {"type": "Odd"}"#, "the normalizer “Odd”"),
        (#"{"type": "BPE", "vocab": {"a": 0}}"#, #""pre_tokenizer": {"type": "UnicodeScripts"}"#, "“UnicodeScripts”"),
        (#"{"type": "WordLevel", "vocab": {"a": 0}}"#, #""x": 1"#, "the model “WordLevel”"),
        (#"{"type": "BPE", "vocab": {"a": 0}, "dropout": 0.1}"#, #""x": 1"#, "a dropout of 0.1"),
        (#"{"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}"#, #""x": 1"#, "merge 0"),
        (
            #"{"type": "BPE", "vocab": {"a": 0}}"#,
            #""pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(?<=a)b"}, "behavior": "Removed"}"#, "“(?<=a)b”"
        ),
        (#"{"type": "BPE", "vocab": {"a": 0}}"#, #""padding": {"direction": "Left", "pad_id": 0}"#, "“Left”"),
        (#"{"type": "BPE", "vocab": {"a": 0}}"#, #""post_processor": {"type": "Odd"}"#, "the post-processor “Odd”"),
        (#"{"type": "Unigram", "vocab": [["a", -1]]}"#, #""x": 1"#, "no unk_id"),
    ])
    func namesWhatItDoesNotKnow(model: String, other: String, words: String) {
        let error = #expect(throws: TokenizerError.self) { try Tokenizer(Data("{\"model\": \(model), \(other)}".utf8)) }
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }

    @Test func refusesDamagedFiles() throws {
        let file = try Self.file("clip.json")
        for length in stride(from: 0, to: file.count - 2, by: 997) {
            #expect(throws: TokenizerError.self) { try Tokenizer(file.prefix(length)) }
        }
        let model = try Self.file("spiece.model")
        for length in stride(from: 1, to: model.count - 1, by: 499) {
            _ = try? TokenizerFiles("spiece.model", model.prefix(length)) { _ in nil }
        }
    }

    /// Much of one thing, which would take hours in the square of its length.
    @Test(arguments: ["a", " ", "<", "'", "1", "a\u{301}", "\u{301}\u{323}", "\n ", "海", "👩\u{200d}"])
    func longTextsTakeNoLongerThanTheyAre(unit: String) throws {
        let text = String(repeating: unit, count: 50_000)
        for name in ["clip", "byte-fallback", "unigram", "word-pieces", "others"] {
            #expect(try Self.tokenizer(name).ids(of: text, length: 64).count <= 64)
        }
    }
}
