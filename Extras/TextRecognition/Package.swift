// swift-tools-version: 6.1
import PackageDescription

// The tests of the product TextRecognition, which the package in the root has.
let package = Package(
    name: "lookalike-text-recognition",
    platforms: [.macOS(.v15), .iOS(.v18)],
    dependencies: [
        // The traits of all packages in Extras, so that these compile the core once for all of them.
        .package(
            name: "lookalike", path: "../..",
            traits: [.defaults, "Barcodes", "ONNXImport", "Service", "SystemStores", "TextRecognition"])
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
