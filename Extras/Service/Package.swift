// swift-tools-version: 6.1
import PackageDescription

/// The traits of all packages in Extras without macros, so that these compile the core once for all of them. With
/// `LOOKALIKE_SHARED=1` they are default traits: see the manifest in the root.
let traits: Set<Package.Dependency.Trait> =
    Context.environment["LOOKALIKE_SHARED"] == "1"
    ? [.defaults] : [.defaults, "Barcodes", "ONNXImport", "Service", "SystemStores", "TextRecognition"]

let swiftSettings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

// The program, and the tests of the product LookalikeService, which the package in the root has.
let package = Package(
    name: "lookalike-service",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [.executable(name: "lookalike-serve", targets: ["LookalikeServe"])],
    traits: [
        .trait(name: "TLS", description: "HTTPS by the service itself. It builds BoringSSL, which takes minutes."),
        .default(enabledTraits: ["TLS"]),
    ],
    dependencies: [
        .package(
            name: "lookalike", path: "../..",
            traits: traits.union([.trait(name: "TLS", condition: .when(traits: ["TLS"]))])),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    ],
    targets: [
        .executableTarget(
            name: "LookalikeServe",
            dependencies: [
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CommandProcess", package: "lookalike"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Lookalike", package: "lookalike"),
                .product(name: "LookalikeService", package: "lookalike"),
                .product(name: "Metrics", package: "swift-metrics"),
            ], swiftSettings: swiftSettings),
        .testTarget(
            name: "ServiceTests",
            dependencies: [
                "LookalikeServe",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Lookalike", package: "lookalike"),
                .product(name: "LookalikeService", package: "lookalike"),
                .product(name: "Metrics", package: "swift-metrics"),
            ], resources: [.copy("Fixtures")], swiftSettings: swiftSettings),
    ],
    swiftLanguageModes: [.v6]
)
