/// Pieces that are joined in pairs, those first that come first in a list (https://arxiv.org/abs/1508.07909).
struct BytePairEncoding: Sendable {
    private struct Pair: Hashable {
        let left: Int32
        let right: Int32
    }

    private let vocabulary: Vocabulary
    private let merges: [Pair: (rank: Int32, id: Int32)]
    private let prefix: [UInt8]
    private let suffix: [UInt8]
    private let unknown: Int32?
    private let joinsUnknown: Bool
    private let fallsBackToBytes: Bool
    private let ignoresMerges: Bool

    init(_ json: JSON, _ vocabulary: Vocabulary) throws(TokenizerError) {
        if let dropout = json["dropout"]?.double, dropout > 0 { throw .unsupported("a dropout of \(dropout)") }
        self.vocabulary = vocabulary
        prefix = json["continuing_subword_prefix"]?.bytes ?? []
        suffix = json["end_of_word_suffix"]?.bytes ?? []
        unknown = try json["unk_token"]?.bytes.map { token throws(TokenizerError) in
            guard let id = vocabulary[token] else { throw .malformed("its vocabulary lacks the unk_token") }
            return id
        }
        joinsUnknown = json["fuse_unk"]?.bool ?? false
        fallsBackToBytes = json["byte_fallback"]?.bool ?? false
        ignoresMerges = json["ignore_merges"]?.bool ?? false
        var merges: [Pair: (rank: Int32, id: Int32)] = [:]
        for (rank, merge) in (json["merges"]?.array ?? []).enumerated() {
            var pair = merge.array?.compactMap { $0.bytes.map { $0[...] } } ?? []
            if let line = merge.bytes {
                pair = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            }
            guard pair.count == 2, let left = vocabulary[pair[0]], let right = vocabulary[pair[1]] else {
                throw .malformed("its merge \(rank) joins what its vocabulary lacks")
            }
            guard let id = vocabulary[pair[0] + pair[1].dropFirst(prefix.count)] else {
                throw .malformed("its vocabulary lacks what merge \(rank) makes")
            }
            merges[Pair(left: left, right: right)] = (Int32(rank), id)
        }
        self.merges = merges
    }

    /// - Complexity: O(n log n) in the length of the word.
    func ids(of word: [Unicode.Scalar]) -> [Int32] {
        if ignoresMerges, let id = vocabulary[String(word).utf8] { return [id] }
        return merged(symbols(of: word))
    }

    private func symbols(of word: [Unicode.Scalar]) -> [Int32] {
        var symbols: [Int32] = []
        var wasUnknown = false
        for (index, scalar) in word.enumerated() {
            let bytes = Array(UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            let symbol =
                (index > 0 ? prefix : []) + bytes + (index == word.count - 1 ? suffix : [])
            if let id = vocabulary[symbol] {
                symbols.append(id)
                wasUnknown = false
            } else if fallsBackToBytes, let ids = vocabulary.ids(ofBytes: symbol) {
                symbols += ids
                wasUnknown = false
            } else if let unknown {
                if !wasUnknown || !joinsUnknown { symbols.append(unknown) }
                wasUnknown = true
            }
        }
        return symbols
    }

    private func merged(_ symbols: [Int32]) -> [Int32] {
        guard symbols.count > 1 else { return symbols }
        var ids = symbols
        // The neighbors that are left; −1 for none.
        var next = symbols.indices.map { $0 + 1 < symbols.count ? Int32($0 + 1) : -1 }
        var previous = symbols.indices.map { Int32($0 - 1) }
        var isGone = [Bool](repeating: false, count: symbols.count)
        var heap = Heap()
        func add(_ place: Int32) {
            guard place >= 0, next[Int(place)] >= 0 else { return }
            let pair = Pair(left: ids[Int(place)], right: ids[Int(next[Int(place)])])
            if let merge = merges[pair] { heap.insert(UInt64(merge.rank) << 32 | UInt64(place)) }
        }
        for place in symbols.indices { add(Int32(place)) }
        while let top = heap.removeFirst() {
            let place = Int(top & 0xffff_ffff)
            guard !isGone[place], next[place] >= 0 else { continue }
            let other = Int(next[place])
            // The pair may have changed since.
            guard let merge = merges[Pair(left: ids[place], right: ids[other])], UInt64(merge.rank) == top >> 32 else {
                continue
            }
            ids[place] = merge.id
            isGone[other] = true
            next[place] = next[other]
            if next[place] >= 0 { previous[Int(next[place])] = Int32(place) }
            add(Int32(place))
            add(previous[place])
        }
        return ids.indices.filter { !isGone[$0] }.map { ids[$0] }
    }
}

/// The smallest number first.
private struct Heap {
    private var numbers: [UInt64] = []

    mutating func insert(_ number: UInt64) {
        numbers.append(number)
        var place = numbers.count - 1
        while place > 0, numbers[place] < numbers[(place - 1) / 2] {
            numbers.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    mutating func removeFirst() -> UInt64? {
        guard let first = numbers.first else { return nil }
        let last = numbers.removeLast()
        guard !numbers.isEmpty else { return first }
        numbers[0] = last
        var place = 0
        while true {
            let children = (2 * place + 1)..<min(2 * place + 3, max(numbers.count, 2 * place + 1))
            guard let child = children.min(by: { numbers[$0] < numbers[$1] }), numbers[child] < numbers[place] else {
                return first
            }
            numbers.swapAt(place, child)
            place = child
        }
    }
}
