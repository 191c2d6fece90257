import Foundation
import Lookalike
import SeededNumbers

/// How votes of visual words scale: bytes of inverted lists, time of a query and recall among many simulated images.
///
/// Arguments: a catalog, the file of queries for images of its entities (as `lookalike evaluate` reads it), a catalog
/// of other images, and numbers of simulated images. No image is made for these: each has 200 features, 50 of each of
/// four other images. A feature keeps its visual word, and has each bit of its signature from one of two features with
/// that word. Among the candidates are votes alone, without prints.
@main
struct Votes {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 4 else { fatalError("arguments: CATALOG QUERIES OTHERS COUNT...") }
        let known = try await WordsOfImages(arguments[0])
        let pool = try await WordsOfImages(arguments[2])
        let queries = try Query.all(in: URL(fileURLWithPath: arguments[1]), of: known)
        let allQueries = queries.map(\.words)
        print("\(known.images.count) images, \(queries.count) queries, \(pool.images.count) other images")
        for count in arguments.dropFirst(3).compactMap({ Int($0) }) {
            let lists = SimulatedLists(known, and: count, of: Pool(pool)).lists
            // Once before, so that the lists are in memory.
            for words in allQueries { _ = lists.lists.candidates(for: words, limit: limit) }
            var times: [Double] = []
            var ranks: [Int] = []
            for query in queries {
                let start = ContinuousClock.now
                let found = lists.lists.candidates(for: query.words, limit: limit)
                times.append((ContinuousClock.now - start) / .milliseconds(1))
                ranks.append(found.firstIndex { query.targets.contains($0.image) } ?? limit)
            }
            func recall(_ k: Int) -> Double { Double(ranks.count { $0 < k }) / Double(max(ranks.count, 1)) }
            times.sort()
            print(
                String(
                    format: "%d images: %.0f bytes an image, median %.2f ms, mean %.2f, 95 %% %.2f; "
                        + "recall@1 %.3f, @%d %.3f; resident %.2f GB",
                    known.images.count + count, Double(lists.byteCount) / Double(known.images.count + count),
                    times[times.count / 2], times.reduce(0, +) / Double(times.count), times[times.count * 95 / 100],
                    recall(1), limit, recall(limit), residentGigabytes()))
            fflush(nil)
        }
    }

    private static let limit = 20

    private static func residentGigabytes() -> Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS") } ?? ""
        return Double(line.split(separator: " ").dropFirst().first ?? "0").map { $0 / 1e6 } ?? 0
    }
}

/// The visual words of a catalog's images.
struct WordsOfImages {
    private(set) var ids: [String] = []
    private(set) var images: [[VisualWord]] = []

    init(_ path: String) async throws {
        let catalog = try Catalog(at: URL(fileURLWithPath: path))
        var row: Int64?
        repeat {
            let page = try await catalog.records(after: row, limit: 500)
            for record in page.records {
                for image in record.images {
                    ids.append(record.entity.id)
                    images.append(image.words)
                }
            }
            row = page.next
        } while row != nil
    }
}

/// The words of a photograph, and the images that it shows.
struct Query {
    let words: QueryWords
    let targets: Set<Int>

    static func all(in file: URL, of known: WordsOfImages) throws -> [Query] {
        struct Line: Decodable {
            let query: String
            let target: String?
            let targets: [String]?
        }
        let extractor = LocalFeatureExtractor(try .default())
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { text in
            let line = try JSONDecoder().decode(Line.self, from: Data(text.utf8))
            let names = Set(line.targets ?? [line.target].compactMap(\.self))
            let targets = Set(known.ids.indices.filter { names.contains(known.ids[$0]) })
            guard !targets.isEmpty else { return nil }
            let photo = try PixelBuffer(
                contentsOf: file.deletingLastPathComponent().appendingPathComponent(line.query))
            let query = LocalFeatureQuery(extractor.queryFeatures(of: photo), model: extractor.model)
            return Query(words: query.words, targets: targets)
        }
    }
}

/// What simulated images are made of.
struct Pool {
    /// The words of each image with enough features.
    let images: [[UInt16]]
    /// The signatures of all features with a word.
    let signatures: [[UInt64]]

    init(_ words: WordsOfImages) {
        images = words.images.filter { $0.count >= 50 }.map { $0.map(\.word) }
        var signatures = [[UInt64]](repeating: [], count: 1 << 16)
        for word in words.images.joined() { signatures[Int(word.word)].append(word.signature) }
        self.signatures = signatures
    }
}

/// Inverted lists of known and of simulated images.
struct SimulatedLists {
    private static let wordCount = 1 << 16
    /// Words whose lists are made at a time; images are simulated again for each part.
    private static let mostAtOnce = 1 << 28

    let lists: ListsInMemory

    init(_ known: WordsOfImages, and count: Int, of pool: Pool) {
        let imageCount = known.images.count + count
        let counts = known.images.map { UInt16($0.count) } + Array(repeating: UInt16(200), count: count)
        let total = counts.reduce(0) { $0 + Int($1) }
        // As in a catalog, the first bits of the signatures divide the list of each word.
        let divisions = 1 << InvertedLists.divisionBits(imageCount: imageCount)
        let shape = InvertedListsShape(
            listCount: Self.wordCount * divisions, imageCount: imageCount, featureCount: total)
        let memory = ListsInMemory(shape, featureCounts: counts)
        var lows = ImageEncoder(.lows, of: shape)
        var highs = ImageEncoder(.highs, of: shape)
        let partCount = (total + Self.mostAtOnce - 1) / Self.mostAtOnce
        for part in 0..<partCount {
            let range = (Self.wordCount * part / partCount)..<(Self.wordCount * (part + 1) / partCount)
            var starts = [Int](repeating: 0, count: range.count + 1)
            Self.forEachFeature(known, count, pool, range) { _, word, _ in starts[word - range.lowerBound + 1] += 1 }
            for word in range.indices { starts[word - range.lowerBound + 1] += starts[word - range.lowerBound] }
            var images = [UInt32](repeating: 0, count: starts[range.count])
            var signatures = images
            var next = starts
            Self.forEachFeature(known, count, pool, range) { image, word, signature in
                let place = next[word - range.lowerBound]
                (images[place], signatures[place]) = (UInt32(image), UInt32(truncatingIfNeeded: signature))
                next[word - range.lowerBound] += 1
            }
            for list in 0..<range.count {
                var parts = [[Int]](repeating: [], count: divisions)
                for place in starts[list]..<starts[list + 1] {
                    parts[Int(signatures[place]) & (divisions - 1)].append(place)
                }
                for places in parts {
                    memory.append(places.map { signatures[$0] })
                    let images = places.map { images[$0] }
                    lows.append(images)
                    highs.append(images)
                }
                memory.append(lows: lows.takeWords(), highs: highs.takeWords())
            }
        }
        memory.append(lows: lows.finish(), highs: highs.finish())
        lists = memory
    }

    /// Calls `body` with the image, the word and the signature of each feature whose word is in a range.
    static func forEachFeature(
        _ known: WordsOfImages, _ count: Int, _ pool: Pool, _ range: Range<Int>,
        _ body: (_ image: Int, _ word: Int, _ signature: UInt64) -> Void
    ) {
        for (image, words) in known.images.enumerated() {
            for word in words where range.contains(Int(word.word)) {
                body(image, Int(word.word), word.signature)
            }
        }
        for image in 0..<count {
            // The generator of each image starts anew, so that each part sees the same images.
            var random = SplitMix64(state: UInt64(image) &* 0x9E37_79B9_7F4A_7C15)
            for _ in 0..<4 {
                let source = pool.images[Int.random(in: pool.images.indices, using: &random)]
                for _ in 0..<50 {
                    let word = Int(source[Int.random(in: source.indices, using: &random)])
                    let (bits, mask) = (random.next(), random.next())
                    guard range.contains(word) else { continue }
                    let signatures = pool.signatures[word]
                    let first = signatures[Int(bits >> 32) % signatures.count]
                    let second = signatures[Int(bits >> 16 & 0xFFFF) % signatures.count]
                    body(known.images.count + image, word, first & mask | second & ~mask)
                }
            }
        }
    }
}

/// The parts of lists.
final class ListsInMemory: @unchecked Sendable {
    private let offsets: UnsafeMutableBufferPointer<UInt64>
    private let signatures: UnsafeMutableBufferPointer<UInt32>
    private let lows: UnsafeMutableBufferPointer<UInt64>
    private let highs: UnsafeMutableBufferPointer<UInt64>
    private let featureCounts: UnsafeMutableBufferPointer<UInt16>
    private var filled = (lists: 0, features: 0, lows: 0, highs: 0)

    init(_ shape: InvertedListsShape, featureCounts counts: [UInt16]) {
        offsets = .allocate(capacity: shape.listCount + 1)
        signatures = .allocate(capacity: shape.featureCount)
        lows = .allocate(capacity: shape.lowWordCount)
        highs = .allocate(capacity: shape.highWordCount)
        featureCounts = .allocate(capacity: counts.count)
        offsets[0] = 0
        _ = featureCounts.initialize(from: counts)
    }

    deinit {
        offsets.deallocate()
        signatures.deallocate()
        lows.deallocate()
        highs.deallocate()
        featureCounts.deallocate()
    }

    func append(_ list: [UInt32]) {
        for (place, signature) in list.enumerated() { signatures[filled.features + place] = signature }
        filled.features += list.count
        filled.lists += 1
        offsets[filled.lists] = UInt64(filled.features)
    }

    func append(lows newLows: [UInt64], highs newHighs: [UInt64]) {
        for (place, word) in newLows.enumerated() { lows[filled.lows + place] = word }
        for (place, word) in newHighs.enumerated() { highs[filled.highs + place] = word }
        filled.lows += newLows.count
        filled.highs += newHighs.count
    }

    var byteCount: Int {
        8 * (offsets.count + lows.count + highs.count) + 4 * signatures.count + 2 * featureCounts.count
    }

    var lists: InvertedLists {
        InvertedLists(
            offsets: UnsafeBufferPointer(offsets), signatures: UnsafeBufferPointer(signatures),
            lows: UnsafeBufferPointer(lows), highs: UnsafeBufferPointer(highs),
            featureCounts: UnsafeBufferPointer(featureCounts), owner: self)
    }
}
