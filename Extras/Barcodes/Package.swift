// swift-tools-version: 6.1
import PackageDescription

/// The traits of all packages in Extras without macros, so that these compile the core once for all of them. With
/// `LOOKALIKE_SHARED=1` they are default traits: see the manifest in the root.
let traits: Set<Package.Dependency.Trait> =
    Context.environment["LOOKALIKE_SHARED"] == "1"
    ? [.defaults] : [.defaults, "Barcodes", "ONNXImport", "Service", "SystemStores", "TextRecognition"]

// The tests of the product Barcodes, which the package in the root has.
let package = Package(
    name: "lookalike-barcodes",
    platforms: [.macOS(.v15), .iOS(.v18)],
    dependencies: [
        .package(name: "lookalike", path: "../..", traits: traits)
    ],
    targets: [
        .testTarget(
            name: "BarcodeTests",
            dependencies: [
                .product(name: "Barcodes", package: "lookalike"), .product(name: "Lookalike", package: "lookalike"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
