// swift-tools-version: 6.1
import PackageDescription

/// The traits of all packages in Extras without macros, so that these compile the core once for all of them. With
/// `LOOKALIKE_SHARED=1` they are default traits: see the manifest in the root.
let traits: Set<Package.Dependency.Trait> =
    Context.environment["LOOKALIKE_SHARED"] == "1"
    ? [.defaults] : [.defaults, "Barcodes", "ONNXImport", "Service", "SystemStores", "TextRecognition"]

// The tests of the product TextRecognition, which the package in the root has.
let package = Package(
    name: "lookalike-text-recognition",
    platforms: [.macOS(.v15), .iOS(.v18)],
    dependencies: [
        .package(name: "lookalike", path: "../..", traits: traits)
    ],
    targets: [
        .testTarget(
            name: "TextRecognitionTests",
            dependencies: [
                .product(name: "Lookalike", package: "lookalike"),
                .product(name: "TextRecognition", package: "lookalike"),
            ],
            exclude: ["make_fixtures.py"], resources: [.copy("Fixtures")])
    ],
    swiftLanguageModes: [.v6]
)
