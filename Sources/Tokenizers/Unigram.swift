/// The pieces of a word whose probabilities have the largest product (https://arxiv.org/abs/1804.10959).
struct Unigram: Sendable {
    private let vocabulary: Vocabulary
    private let scores: [Double]
    private let trie: PieceTrie
    private let unknown: Int32
    private let unknownScore: Double
    private let fallsBackToBytes: Bool

    init(_ json: JSON, _ vocabulary: Vocabulary) throws(TokenizerError) {
        let entries = json["vocab"]?.array ?? []
        var scores: [Double] = []
        for entry in entries { scores.append(entry.array?.last?.double ?? .nan) }
        guard let least = scores.min(), scores.allSatisfy(\.isFinite) else {
            throw .malformed("its pieces lack scores")
        }
        guard let unknown = json["unk_id"]?.integer, scores.indices.contains(unknown) else {
            throw .unsupported("no unk_id")
        }
        (self.vocabulary, self.scores, self.unknown) = (vocabulary, scores, Int32(unknown))
        trie = PieceTrie(entries.map { $0.array?.first?.bytes ?? [] })
        unknownScore = least - 10
        fallsBackToBytes = json["byte_fallback"]?.bool ?? false
    }

    /// - Complexity: O(length of the word · length of the longest piece · log of the number of pieces).
    func ids(of word: [Unicode.Scalar]) -> [Int32] {
        let bytes = Array(String(word).utf8)
        /// The best way to each place: the piece that ends there, where it starts, and the sum of the scores.
        var best = [(id: Int32, start: Int, score: Double)](repeating: (-1, -1, 0), count: bytes.count + 1)
        var place = 0
        while place < bytes.count {
            var length = 1
            while place + length < bytes.count, bytes[place + length] & 0xc0 == 0x80 { length += 1 }
            let score = best[place].score
            var hasOne = false
            trie.forEachPrefix(of: bytes[place...]) { id, count in
                let sum = score + scores[Int(id)]
                if best[place + count].start < 0 || sum > best[place + count].score {
                    best[place + count] = (id, place, sum)
                }
                if count == length { hasOne = true }
            }
            if !hasOne {
                let sum = score + unknownScore
                if best[place + length].start < 0 || sum > best[place + length].score {
                    best[place + length] = (unknown, place, sum)
                }
            }
            place += length
        }
        var pieces: [(id: Int32, range: Range<Int>)] = []
        while place > 0 {
            let (id, start, _) = best[place]
            if id == unknown, let last = pieces.last, last.id == unknown {
                pieces[pieces.count - 1].range = start..<last.range.upperBound
            } else {
                pieces.append((id, start..<place))
            }
            place = start
        }
        return pieces.reversed().flatMap { id, range -> [Int32] in
            guard id == unknown, fallsBackToBytes, let ids = vocabulary.ids(ofBytes: Array(bytes[range])) else {
                return [id]
            }
            return ids
        }
    }
}

/// The pieces that a text begins with.
private struct PieceTrie: Sendable {
    /// The pieces in order.
    private let pieces: [(bytes: [UInt8], id: Int32)]

    init(_ pieces: [[UInt8]]) {
        self.pieces = pieces.enumerated().filter { !$0.element.isEmpty }.map { ($0.element, Int32($0.offset)) }
            .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }

    /// Calls `body` with the piece and its length, the shortest first.
    func forEachPrefix(of text: ArraySlice<UInt8>, _ body: (_ id: Int32, _ count: Int) -> Void) {
        var range = 0..<pieces.count
        for (depth, byte) in text.enumerated() {
            // All pieces of the range have the first bytes of the text.
            let low = first(in: range) { pieces[$0].bytes.count > depth && pieces[$0].bytes[depth] >= byte }
            let high = first(in: low..<range.upperBound) { pieces[$0].bytes[depth] > byte }
            range = low..<high
            guard !range.isEmpty else { return }
            if pieces[low].bytes.count == depth + 1 { body(pieces[low].id, depth + 1) }
        }
    }

    private func first(in range: Range<Int>, where holds: (Int) -> Bool) -> Int {
        var (low, high) = (range.lowerBound, range.upperBound)
        while low < high {
            let middle = (low + high) / 2
            if holds(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
