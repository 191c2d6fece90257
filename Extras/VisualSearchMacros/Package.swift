// swift-tools-version: 6.1
import CompilerPluginSupport
import PackageDescription

let package = Package(
    name: "lookalike-visual-search-macros",
    products: [.library(name: "VisualSearchMacros", targets: ["VisualSearchMacros"])],
    dependencies: [
        .package(name: "lookalike", path: "../.."),
        .package(url: "https://github.com/swiftlang/swift-syntax", "600.0.1"..<"604.0.0"),
    ],
    targets: [
        .macro(
            name: "VisualSearchMacroPlugin",
            dependencies: [
                .product(name: "SwiftCompilerPlugin", package: "swift-syntax"),
                .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
            ]),
        .target(
            name: "VisualSearchMacros",
            dependencies: ["VisualSearchMacroPlugin", .product(name: "VisualSearch", package: "lookalike")]),
        .testTarget(name: "VisualSearchMacroTests", dependencies: ["VisualSearchMacros"]),
    ],
    swiftLanguageModes: [.v6]
)
