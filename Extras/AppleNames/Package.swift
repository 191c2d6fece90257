// swift-tools-version: 6.1
import PackageDescription

// The tests of the product AppleNames, which the package in the root has. A program imports Apple's modules alone, in
// both language modes, as a program for Apple's systems does.
let appleNames = Target.Dependency.product(name: "AppleNames", package: "lookalike")

let package = Package(
    name: "lookalike-apple-names",
    platforms: [.macOS(.v15), .iOS(.v18)],
    dependencies: [.package(name: "lookalike", path: "../..", traits: [.defaults, "AppleNames"])],
    targets: [
        .target(
            name: "GalleryProgram5", dependencies: [appleNames], path: "Tests/GalleryProgram5",
            swiftSettings: [.swiftLanguageMode(.v5)]),
        .target(name: "GalleryProgram6", dependencies: [appleNames], path: "Tests/GalleryProgram6"),
        .testTarget(
            name: "AppleNamesTests",
            dependencies: [
                "GalleryProgram5", "GalleryProgram6", appleNames,
                .product(name: "SystemStores", package: "lookalike"),
                .product(name: "VisualSearchHost", package: "lookalike"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
