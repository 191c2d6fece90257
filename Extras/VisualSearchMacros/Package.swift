// swift-tools-version: 6.1
import PackageDescription

// The tests of the product VisualSearchMacros, which the package in the root has.
let package = Package(
    name: "lookalike-visual-search-macros",
    platforms: [.macOS(.v15), .iOS(.v18)],
    dependencies: [
        // The traits of all packages that use the macros, so that these compile the core once for all of them.
        .package(name: "lookalike", path: "../..", traits: [.defaults, "AppleNames"])
    ],
    targets: [
        .testTarget(
            name: "VisualSearchMacroTests",
            dependencies: [.product(name: "VisualSearchMacros", package: "lookalike")])
    ],
    swiftLanguageModes: [.v6]
)
