import Foundation
import Lookalike
import SeededNumbers

/// Makes a catalog large: adds simulated images to it, and says how fast that was.
///
/// Arguments: a catalog, a catalog of other images, the number of simulated images, and optionally how many dense
/// descriptors each has; all by default. `lookalike evaluate` and `lookalike search --timings` say what the size costs.
@main
struct Scale {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 3, let count = Int(arguments[2]) else {
            fatalError("arguments: CATALOG OTHERS COUNT [DENSE]")
        }
        let dense = arguments.dropFirst(3).first.flatMap { Int($0) } ?? 255
        let images = try await SimulatedImages(of: URL(fileURLWithPath: arguments[1]), dense: dense)
        let indexer = try CatalogIndexer(at: URL(fileURLWithPath: arguments[0]), thumbnailSide: nil)
        let items = SimulatedItems(images: images, count: count, model: indexer.model.identity)
        let start = ContinuousClock.now
        var commits: [(images: Int, seconds: Double)] = [(0, 0)]
        for try await report in indexer.index(items) {
            guard report.failed == 0 else { fatalError("\(report.problems.first?.description ?? "")") }
            commits.append((report.processed, (ContinuousClock.now - start) / .seconds(1)))
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

/// Entities with an image each, made as they are needed.
struct SimulatedItems: AsyncSequence {
    let images: SimulatedImages
    let count: Int
    let model: ModelIdentity

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let items: SimulatedItems
        private var number = 0

        fileprivate init(_ items: SimulatedItems) { self.items = items }

        mutating func next() async -> IndexItem? {
            guard number < items.count else { return nil }
            defer { number += 1 }
            let image = items.images.image(number, items.model)
            return IndexItem(CatalogEntity(id: "simulated-\(number)"), image: .computed(image))
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
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
