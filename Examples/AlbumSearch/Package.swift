// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "album-search",
    platforms: [.macOS(.v15), .iOS(.v18)],
    dependencies: [
        .package(name: "lookalike", path: "../..", traits: [.defaults, "AppleNames"]),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        .executableTarget(
            name: "AlbumSearch",
            dependencies: [
                .product(name: "AppleNames", package: "lookalike"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Lookalike", package: "lookalike"),
                .product(name: "SystemStores", package: "lookalike"),
                .product(name: "VisualSearch", package: "lookalike"),
                .product(name: "VisualSearchHost", package: "lookalike"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
