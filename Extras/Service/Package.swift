// swift-tools-version: 6.1
import PackageDescription

let swiftSettings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "lookalike-service",
    products: [
        .library(name: "LookalikeService", targets: ["LookalikeService"]),
        .executable(name: "lookalike-serve", targets: ["LookalikeServe"]),
    ],
    traits: [
        .trait(name: "TLS", description: "HTTPS by the service itself. It builds BoringSSL, which takes minutes."),
        .default(enabledTraits: ["TLS"]),
    ],
    dependencies: [
        .package(name: "lookalike", path: "../.."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(
            url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: ["FullFoundation"]),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // Lowest layer first: a target depends only on targets above it in this list.
        .target(name: "Multipart", swiftSettings: swiftSettings),
        .target(
            name: "PrometheusMetrics", dependencies: [.product(name: "Metrics", package: "swift-metrics")],
            swiftSettings: swiftSettings),
        .target(
            name: "LookalikeService",
            dependencies: [
                "Multipart", "PrometheusMetrics",
                .product(name: "Digests", package: "lookalike"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird", condition: .when(traits: ["TLS"])),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Lookalike", package: "lookalike"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["TLS"])),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            resources: [.copy("Page/Resources"), .copy("openapi.json")], swiftSettings: swiftSettings),
        .executableTarget(
            name: "LookalikeServe",
            dependencies: [
                "LookalikeService", "PrometheusMetrics",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CommandProcess", package: "lookalike"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Lookalike", package: "lookalike"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ], swiftSettings: swiftSettings),
        .testTarget(
            name: "ServiceTests",
            dependencies: [
                "LookalikeServe", "LookalikeService", "Multipart", "PrometheusMetrics",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Lookalike", package: "lookalike"),
                .product(name: "Metrics", package: "swift-metrics"),
            ], swiftSettings: swiftSettings),
    ],
    swiftLanguageModes: [.v6]
)
