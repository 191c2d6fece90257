// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "lookalike-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "lookalike", path: ".."),
        // Without its traits: they count allocations with a library that not every toolchain has.
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
    ],
    targets: [
        // What the machine can do at most, to hold the stages against.
        .target(name: "CLimits"),
        .target(
            name: "Stages",
            dependencies: [
                "CLimits",
                .product(name: "LocalFeatures", package: "lookalike"),
                .product(name: "Lookalike", package: "lookalike"),
                .product(name: "VisualSearch", package: "lookalike"),
            ]
        ),
        // Runs stages when peers/compare.py says so.
        .executableTarget(name: "StageRunner", dependencies: ["Stages"]),
        // Throughput, lateness of other tasks, and cancellation, with many searches in flight.
        .executableTarget(
            name: "Concurrency", dependencies: ["SeededNumbers", .product(name: "Lookalike", package: "lookalike")]),
        // Catalogs of millions of simulated images.
        .executableTarget(
            name: "Scale", dependencies: ["SeededNumbers", .product(name: "Lookalike", package: "lookalike")]),
        .target(name: "SeededNumbers"),
        // The quick mode: stages against the limits, in one process.
        .executableTarget(
            name: "Quick",
            dependencies: [
                "Stages", .product(name: "LocalFeatures", package: "lookalike"),
                .product(name: "Lookalike", package: "lookalike"),
                .product(name: "Benchmark", package: "benchmark"),
            ],
            path: "Benchmarks/Quick",
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]
        ),
    ],
    swiftLanguageModes: [.v6]
)
