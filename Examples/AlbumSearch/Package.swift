// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "album-search",
    dependencies: [
        .package(name: "lookalike", path: "../.."),
        .package(name: "lookalike-system-stores", path: "../../Extras/SystemStores"),
        .package(name: "lookalike-visual-search-macros", path: "../../Extras/VisualSearchMacros"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        .executableTarget(
            name: "AlbumSearch",
            dependencies: [
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Lookalike", package: "lookalike"),
                .product(name: "SystemStores", package: "lookalike-system-stores"),
                .product(name: "VisualSearch", package: "lookalike"),
                .product(name: "VisualSearchMacros", package: "lookalike-visual-search-macros"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
