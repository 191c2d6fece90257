import Foundation
import Lookalike

/// How searches live with other tasks: throughput with one search in flight and with many, how late a task that only
/// sleeps wakes beside them, and how long a cancelled search goes on.
///
/// Arguments: the number of entities, the number of searches, and the effort. The catalog is made of prints from a
/// formula, so that it can be large; with `standard`, its first entities are generated images with local features.
@main
struct Concurrency {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst().map { $0 }
        let entities = arguments.first.flatMap { Int($0) } ?? 20_000
        let searches = arguments.dropFirst().first.flatMap { Int($0) } ?? 256
        let effort = arguments.dropFirst(2).first.flatMap { SearchEffort(rawValue: $0) } ?? .prints
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lookalike-concurrency-\(getpid())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let catalog = try await BenchmarkCatalog.make(at: folder, entities: entities)
        let images = BenchmarkCatalog.queries
        print("\(entities) entities, \(searches) searches, effort \(effort.rawValue)")

        for image in images { _ = try await catalog.search(matching: image, options: SearchOptions(effort: effort)) }
        var alone = 0.0
        for inFlight in [1, 2, 64] {
            let ticker = Ticker()
            let ticking = Task { await ticker.run() }
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<inFlight {
                    group.addTask {
                        for index in stride(from: task, to: searches, by: inFlight) {
                            _ = try await catalog.search(
                                matching: images[index % images.count], options: SearchOptions(effort: effort))
                        }
                    }
                }
                try await group.waitForAll()
            }
            let rate = Double(searches) / ((ContinuousClock.now - start) / .seconds(1))
            ticking.cancel()
            await ticking.value
            if inFlight == 1 { alone = rate }
            print(
                String(format: "%2d in flight: %7.1f searches/s (%.2f ×), ", inFlight, rate, rate / alone)
                    + ticker.summary)
            fflush(nil)
        }

        // The time of a search is known now; it is cancelled at moments all over it.
        var lateness: [Double] = []
        let whole = 1 / alone
        for trial in 0..<100 {
            let image = images[trial % images.count]
            let search = Task { try await catalog.search(matching: image, options: SearchOptions(effort: effort)) }
            try await Task.sleep(for: .seconds(whole * Double(trial) / 100))
            let cancelled = ContinuousClock.now
            search.cancel()
            if case .failure(let error) = await search.result, error is CancellationError {
                lateness.append((ContinuousClock.now - cancelled) / .milliseconds(1))
            }
        }
        print("cancelled searches went on for " + Percentiles(lateness).summary + " (\(lateness.count) of 100)")
    }
}

/// A task that sleeps for 10 ms again and again, and notes how late it wakes.
private final class Ticker: @unchecked Sendable {
    // Written by one task, and read when that has ended.
    private var lateness: [Double] = []

    func run() async {
        while !Task.isCancelled {
            let start = ContinuousClock.now
            do { try await Task.sleep(for: .milliseconds(10)) } catch { return }
            lateness.append((ContinuousClock.now - start) / .milliseconds(1) - 10)
        }
    }

    var summary: String { "the ticking task is late by " + Percentiles(lateness).summary }
}

private struct Percentiles {
    private let sorted: [Double]

    init(_ values: [Double]) { sorted = values.sorted() }

    private func at(_ fraction: Double) -> Double {
        sorted.isEmpty ? .nan : sorted[min(sorted.count - 1, Int(Double(sorted.count) * fraction))]
    }

    var summary: String { String(format: "%.2f ms (p50), %.2f (p99), %.2f (max)", at(0.5), at(0.99), at(1)) }
}
