// swift-tools-version: 6.1
import PackageDescription

/// What libFuzzer calls: `Scripts/fuzz` builds them with its `main`.
func harness(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name, dependencies: ["FuzzSupport"] + dependencies, swiftSettings: [.unsafeFlags(["-parse-as-library"])])
}

let lookalike = Target.Dependency.product(name: "Lookalike", package: "lookalike")
let digests = Target.Dependency.product(name: "Digests", package: "lookalike")

let package = Package(
    name: "lookalike-fuzz",
    platforms: [.macOS(.v15)],
    dependencies: [
        // Without the trait TLS, which would build BoringSSL for minutes.
        .package(name: "lookalike", path: "..", traits: [.defaults, "ONNXImport", "Service", "SystemStores"]),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .target(name: "FuzzSupport", dependencies: [lookalike]),
        .target(name: "CatalogEdits", dependencies: [.product(name: "GRDB", package: "GRDB.swift")]),
        harness("ImageFuzz", [lookalike]),
        harness("ModelFuzz", [.product(name: "LocalFeatures", package: "lookalike"), lookalike]),
        harness("ImportFuzz", [lookalike, .product(name: "ONNXImport", package: "lookalike")]),
        harness("ManifestFuzz", [lookalike]),
        harness("CodingFuzz", [lookalike, .product(name: "VisualSearch", package: "lookalike")]),
        harness("CatalogFuzz", ["CatalogEdits", digests, lookalike, .product(name: "GRDB", package: "GRDB.swift")]),
        harness(
            "ServiceFuzz",
            [
                "CatalogEdits", digests, lookalike, .product(name: "Logging", package: "swift-log"),
                .product(name: "LookalikeService", package: "lookalike"),
            ]),
        harness(
            "StoreFuzz",
            [
                lookalike, .product(name: "ContactPhotos", package: "lookalike"),
                .product(name: "SystemStores", package: "lookalike"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
