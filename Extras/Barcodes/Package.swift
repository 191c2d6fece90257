// swift-tools-version: 6.1
import PackageDescription

// The tests of the product Barcodes, which the package in the root has.
let package = Package(
    name: "lookalike-barcodes",
    dependencies: [.package(name: "lookalike", path: "../..", traits: [.defaults, "Barcodes"])],
    targets: [
        .testTarget(
            name: "BarcodeTests",
            dependencies: [
                .product(name: "Barcodes", package: "lookalike"), .product(name: "Lookalike", package: "lookalike"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
