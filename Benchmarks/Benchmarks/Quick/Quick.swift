import Benchmark
import LocalFeatures
import Lookalike
import Stages

/// Every stage against a limit of the machine, measured in the same iteration: a regression shows in the ratio, on a
/// slow machine as on a fast one.
let benchmarks: @Sendable () -> Void = {
    let ratio = BenchmarkMetric.custom("ratio to the limit × 100", polarity: .prefersSmaller, useScalingFactor: false)

    /// - Parameters:
    ///   - limit: the least milliseconds that the machine needs for the work.
    ///   - work: the stage once, in milliseconds.
    func stage(_ name: String, limit: @escaping () -> Double, work: @escaping () throws -> Double) {
        Benchmark(
            name,
            configuration: .init(
                metrics: [.wallClock, ratio, .peakMemoryResident], warmupIterations: 3, maxDuration: .seconds(5),
                maxIterations: 200)
        ) { benchmark in
            let bound = limit()
            benchmark.startMeasurement()
            let time = try work()
            benchmark.stopMeasurement()
            benchmark.measurement(ratio, Int((time / bound * 100).rounded()))
        }
    }

    let screen = QuickInputs.screen()
    let resizer = Resizer(width: 192, height: 192)
    stage("resize 5120×2880, to one read of the buffer", limit: { screen.withUnsafeBytes(Limit.reading) }) {
        milliseconds { blackHole(resizer.resize(screen)) }.0
    }

    let crop = QuickInputs.crop()
    for precision in FeaturePrintModel.Precision.allCases {
        guard
            let model = try? FeaturePrintModel(
                FeaturePrintModel.default().fileData, named: "default", precision: precision)
        else { continue }
        let multiplyAdds = model.summary.multiplyAdds
        stage("network \(precision.rawValue), to float32 multiply-adds", limit: { Limit.multiplyAdds(multiplyAdds) }) {
            try milliseconds { blackHole(try model.featurePrints(for: [crop], threads: 1)) }.0
        }
    }

    let rows = QuickInputs.rows(100_000)
    let search = ExactSearch(PrintMatrix(rows, dimension: QuickInputs.dimension))
    let query = Array(rows.prefix(QuickInputs.dimension))
    stage("search of 100,000 prints, to one read of the floats", limit: { rows.withUnsafeBytes(Limit.reading) }) {
        milliseconds { blackHole(search.nearest(to: query, k: 10, threads: 1)) }.0
    }
    let queries = (0..<64).map { Array(rows[($0 * QuickInputs.dimension)..<(($0 + 1) * QuickInputs.dimension)]) }
    stage(
        "search of 100,000 prints for 64 queries, to float32 multiply-adds",
        limit: { Limit.multiplyAdds(64 * rows.count) }
    ) {
        milliseconds { blackHole(search.nearest(toEach: queries, k: 10, threads: 1)) }.0
    }

    guard let extractor = try? LocalFeatureExtractor(.default()) else { return }
    let photograph = QuickInputs.photograph(of: 1)
    // About as many as its blurs take.
    stage("keypoints of 1024×768 at 512, to 20 million multiply-adds", limit: { Limit.multiplyAdds(20_000_000) }) {
        milliseconds { blackHole(extractor.queryFeatures(of: photograph)) }.0
    }

    let pictures = QuickCatalog()
    let unknown = QuickInputs.photograph(of: 500)
    for (name, image, expected) in [("that finds", photograph, "1" as String?), ("that finds nothing", unknown, nil)] {
        Benchmark(
            "a query \(name), to its keypoints at 512",
            configuration: .init(
                metrics: [.wallClock, ratio], warmupIterations: 3, maxDuration: .seconds(5), maxIterations: 100)
        ) { benchmark in
            let catalog = try await pictures.opened()
            let (bound, _) = milliseconds { blackHole(extractor.queryFeatures(of: image)) }
            benchmark.startMeasurement()
            let start = ContinuousClock.now
            let found = try await catalog.search(matching: image).first?.id
            let time = elapsed(since: start)
            benchmark.stopMeasurement()
            precondition(found == expected, "found \(found ?? "nothing"), not \(expected ?? "nothing")")
            benchmark.measurement(ratio, Int((time / bound * 100).rounded()))
        }
    }
}

/// A catalog of 64 pictures, indexed when the first query needs it.
private actor QuickCatalog {
    private var catalog: Catalog?

    func opened() async throws -> Catalog {
        if let catalog { return catalog }
        let made = try await QuickInputs.catalog()
        catalog = made
        return made
    }
}
