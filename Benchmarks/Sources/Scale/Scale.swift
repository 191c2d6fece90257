import Foundation
import Lookalike
import SeededNumbers

/// Makes a catalog large: adds simulated images to it, and says how fast that was.
///
/// Arguments: `index` or `store`, a catalog, a catalog of other images, the number of simulated images, and optionally
/// how many dense descriptors each has; all by default. `index` is an index run, which makes the derived files as the
/// catalog grows; `store` makes them once, at the end, which is the faster way to tens of millions.
///
/// `lookalike evaluate` and `lookalike search --timings` say what the size costs.
@main
struct Scale {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        func number(_ place: Int) -> Int? { arguments.indices.contains(place) ? Int(arguments[place]) : nil }
        guard let way = arguments.first, ["index", "store"].contains(way), let count = number(3) else {
            fatalError("arguments: index|store CATALOG OTHERS COUNT [DENSE]")
        }
        let (url, others) = (URL(fileURLWithPath: arguments[1]), URL(fileURLWithPath: arguments[2]))
        let images = try await SimulatedImages(of: others, dense: number(4) ?? 255)
        let indexer = try CatalogIndexer(at: url, thumbnailSide: nil)
        let items = SimulatedItems(images: images, count: count, model: indexer.model.identity)
        let start = ContinuousClock.now
        var commits: [(images: Int, seconds: Double)] = [(0, 0)]
        func note(_ images: Int, _ problems: [IndexProblem]) {
            if let problem = problems.first { fatalError("\(problem)") }
            let (before, seconds) = (commits.last?.images ?? 0, (ContinuousClock.now - start) / .seconds(1))
            commits.append((images, seconds))
            guard before * 100 / count != images * 100 / count else { return }
            FileHandle.standardError.write(Data("\(images) images in \(Int(seconds)) s\n".utf8))
        }
        if way == "index" {
            for try await report in indexer.run(over: items) { note(report.processed, report.problems) }
        } else {
            let digest = try Catalog(at: others).localFeatureModelDigest
            var stored = 0
            for await batch in items.batches {
                let report = try indexer.store(batch.map(CatalogRecord.init), localFeatureModel: digest)
                stored += report.processed
                note(stored, report.problems)
            }
            try indexer.finishRecords()
        }
        let whole = (ContinuousClock.now - start) / .seconds(1)
        func rate(_ part: Range<Double>) -> Double {
            let inPart = commits.filter { part.contains(Double($0.images) / Double(count)) }
            guard let first = inPart.first, let last = inPart.last, last.seconds > first.seconds else { return .nan }
            return Double(last.images - first.images) / (last.seconds - first.seconds)
        }
        print(
            String(
                format: "%d images in %.0f s, %.0f a second; the last tenth %.2f × the first; derived files %.0f s; "
                    + "%.0f MB of memory at most, mapped files included",
                count, whole, Double(count) / (commits.last?.seconds ?? 0), rate(0.9..<1) / rate(0..<0.1),
                whole - (commits.last?.seconds ?? 0), peakMegabytes()))
    }

    private static func peakMegabytes() -> Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM") } ?? ""
        return Double(line.split(separator: " ").dropFirst().first ?? "0").map { $0 / 1e3 } ?? 0
    }
}

/// Entities with an image each; a batch is made on another thread while the one before is stored.
struct SimulatedItems: AsyncSequence {
    let images: SimulatedImages
    let count: Int
    let model: ModelIdentity

    struct Batches: AsyncSequence, AsyncIteratorProtocol {
        fileprivate let items: SimulatedItems
        private var start = 0
        private var following: Task<[Item], Never>?

        fileprivate init(_ items: SimulatedItems) { self.items = items }

        mutating func next() async -> [Item]? {
            let batch = await (following ?? items.batch(at: start)).value
            guard !batch.isEmpty else { return nil }
            start += batch.count
            following = items.batch(at: start)
            return batch
        }

        func makeAsyncIterator() -> Batches { self }
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var batches: Batches
        fileprivate var batch: ArraySlice<Item> = []

        mutating func next() async -> IndexItem? {
            if batch.isEmpty { batch = await batches.next()?[...] ?? [] }
            return batch.popFirst().map { IndexItem($0.entity, image: .computed($0.image)) }
        }
    }

    struct Item: Sendable {
        let entity: CatalogEntity
        let image: ComputedImage
    }

    var batches: Batches { Batches(self) }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(batches: batches) }

    private func batch(at start: Int) -> Task<[Item], Never> {
        Task.detached {
            (start..<Swift.min(start + 1000, count)).map { number in
                Item(entity: CatalogEntity(id: "simulated-\(number)"), image: images.image(number, model))
            }
        }
    }
}

extension CatalogRecord {
    fileprivate init(_ item: SimulatedItems.Item) {
        var entity = item.entity
        entity.images = [""]
        let digits = Array(entity.id.utf8.suffix(32))
        self.init(
            row: 0, entity: entity,
            images: [
                Image(
                    key: 0, file: .init(size: -1, modified: 0, changed: 0, inode: 0),
                    contentHash: Data(digits + [UInt8](repeating: 0, count: 32 - digits.count)),
                    print: item.image.print.vector, features: item.image.localFeatures, thumbnail: nil)
            ])
    }
}

/// Images that are made of the stored prints and local features of others.
///
/// Each has 200 features, 50 of each of four other images, where they lie there. A feature keeps its visual word, and
/// has each bit of its code from one of two features with that word. The dense descriptors and the print are those of
/// one of the four, the print shifted by half the difference between two others.
struct SimulatedImages {
    private static let (sourceCount, featuresPerSource) = (4, 50)
    /// The sizes of the parts of stored local features, as `LocalFeatures.init(encoded:)` says.
    private static let (headerBytes, wordBytes, placeBytes, codeBytes, denseBytes) = (8, 2, 5, 12, 8)

    private struct Source {
        let print: [Float]
        let features: [UInt8]
        let count: Int

        func word(_ feature: Int) -> Int {
            let place = headerBytes + wordBytes * feature
            return Int(features[place]) | Int(features[place + 1]) << 8
        }

        func bytes(of feature: Int, _ size: Int, behind start: Int) -> ArraySlice<UInt8> {
            features[(start + size * feature)..<(start + size * (feature + 1))]
        }

        func place(_ feature: Int) -> ArraySlice<UInt8> {
            bytes(of: feature, placeBytes, behind: headerBytes + wordBytes * count)
        }

        func code(_ feature: Int) -> ArraySlice<UInt8> {
            bytes(of: feature, codeBytes, behind: headerBytes + (wordBytes + placeBytes) * count)
        }

        var dense: ArraySlice<UInt8> {
            features[(headerBytes + (wordBytes + placeBytes + codeBytes) * count)...]
        }
    }

    private let sources: [Source]
    /// The codes of all features with a word, one after another.
    private let codes: [[UInt8]]
    private let dense: Int

    init(of catalog: URL, dense: Int) async throws {
        let catalog = try Catalog(at: catalog)
        var sources: [Source] = []
        var codes = [[UInt8]](repeating: [], count: 1 << 16)
        var row: Int64?
        repeat {
            let page = try await catalog.records(after: row, limit: 500)
            for image in page.records.flatMap(\.images) where image.words.count >= Self.featuresPerSource {
                guard let features = image.features else { continue }
                let source = Source(print: image.print, features: Array(features), count: image.words.count)
                for feature in 0..<source.count { codes[source.word(feature)] += source.code(feature) }
                sources.append(source)
            }
            row = page.next
        } while row != nil
        (self.sources, self.codes, self.dense) = (sources, codes, dense)
        print("\(sources.count) other images")
    }

    func image(_ number: Int, _ model: ModelIdentity) -> ComputedImage {
        var random = SplitMix64(state: UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
        let chosen = (0..<Self.sourceCount).map { _ in sources[Int.random(in: sources.indices, using: &random)] }
        let denseBytes = chosen[0].dense.prefix(dense * Self.denseBytes)
        var (words, places, mixed): ([UInt8], [UInt8], [UInt8]) = ([], [], [])
        for source in chosen {
            for _ in 0..<Self.featuresPerSource {
                let feature = Int.random(in: 0..<source.count, using: &random)
                let word = source.word(feature)
                words += [UInt8(word & 0xFF), UInt8(word >> 8)]
                places += source.place(feature)
                let (first, second) = (code(of: word, &random), code(of: word, &random))
                let masks = [random.next(), random.next()]
                for (index, (a, b)) in zip(first, second).enumerated() {
                    let mask = UInt8(truncatingIfNeeded: masks[index / 8] >> (index % 8 * 8))
                    mixed.append(a & mask | b & ~mask)
                }
            }
        }
        let count = UInt16(Self.sourceCount * Self.featuresPerSource)
        let header =
            [chosen[0].features[0], UInt8(denseBytes.count / Self.denseBytes)] + chosen[0].features[2..<6]
            + [UInt8(count & 0xFF), UInt8(count >> 8)]
        let shift = zip(chosen[1].print, chosen[2].print).map { ($0 - $1) / 2 }
        let print = zip(chosen[0].print, shift).map { $0 + $1 }
        let norm = print.reduce(0) { $0 + $1 * $1 }.squareRoot()
        return ComputedImage(
            print: FeaturePrint(vector: print.map { $0 / norm }, model: model),
            localFeatures: Data(header + words + places + mixed + denseBytes))
    }

    private func code(of word: Int, _ random: inout SplitMix64) -> ArraySlice<UInt8> {
        let all = codes[word]
        let start = Int.random(in: 0..<(all.count / Self.codeBytes), using: &random) * Self.codeBytes
        return all[start..<(start + Self.codeBytes)]
    }
}
