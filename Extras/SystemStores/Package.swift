// swift-tools-version: 6.1
import PackageDescription

// The tests of the products SystemStores and ContactPhotos, which the package in the root has.
let package = Package(
    name: "lookalike-system-stores",
    platforms: [.macOS(.v15), .iOS(.v18)],
    dependencies: [
        // The traits of all packages in Extras, so that these compile the core once for all of them.
        .package(
            name: "lookalike", path: "../..",
            traits: [.defaults, "Barcodes", "ONNXImport", "Service", "SystemStores", "TextRecognition"])
    ],
    targets: [
        .testTarget(
            name: "SystemStoresTests",
            dependencies: [
                .product(name: "ContactPhotos", package: "lookalike"),
                .product(name: "Lookalike", package: "lookalike"),
                .product(name: "SystemStores", package: "lookalike"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
