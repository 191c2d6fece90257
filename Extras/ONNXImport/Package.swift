// swift-tools-version: 6.1
import PackageDescription

/// The traits of all packages in Extras without macros, so that these compile the core once for all of them. With
/// `LOOKALIKE_SHARED=1` they are default traits: see the manifest in the root.
let traits: Set<Package.Dependency.Trait> =
    Context.environment["LOOKALIKE_SHARED"] == "1"
    ? [.defaults] : [.defaults, "Barcodes", "ONNXImport", "Service", "SystemStores", "TextRecognition"]

// The program, and the tests of the product ONNXImport, which the package in the root has.
let package = Package(
    name: "lookalike-onnx-import",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [.executable(name: "lookalike-import", targets: ["LookalikeImport"])],
    dependencies: [
        .package(name: "lookalike", path: "../..", traits: traits),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        .executableTarget(
            name: "LookalikeImport",
            dependencies: [
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CommandProcess", package: "lookalike"),
                .product(name: "Inference", package: "lookalike"),
                .product(name: "Lookalike", package: "lookalike"),
                .product(name: "ONNXImport", package: "lookalike"),
            ]),
        .testTarget(
            name: "ONNXImportTests",
            dependencies: [
                .product(name: "Inference", package: "lookalike"), .product(name: "Lookalike", package: "lookalike"),
                .product(name: "ONNXImport", package: "lookalike"),
            ],
            exclude: ["make_fixtures.py"], resources: [.copy("Fixtures")]),
    ],
    swiftLanguageModes: [.v6]
)
