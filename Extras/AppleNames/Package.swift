// swift-tools-version: 6.1
import PackageDescription

// Apple's systems have these modules. A build there has an empty product, so that a program that depends on it is the
// same on both.
#if os(Linux)
let modules: [(name: String, dependencies: [Target.Dependency])] = [
    ("AppIntents", [.product(name: "VisualSearchMacros", package: "lookalike")]),
    (
        "VisualIntelligence",
        ["AppleNames", .product(name: "VisualSearchMacros", package: "lookalike")]
    ),
    ("Vision", ["AppleNames"]),
    ("EventKit", ["AppleNames", .product(name: "SystemStores", package: "lookalike")]),
    ("CoreImage", ["AppleNames"]), ("ImageIO", ["AppleNames"]), ("VideoToolbox", ["AppleNames"]),
]
#else
let modules: [(name: String, dependencies: [Target.Dependency])] = []
#endif

let onLinux = TargetDependencyCondition.when(platforms: [.linux])

let package = Package(
    name: "lookalike-apple-names",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [.library(name: "AppleNames", targets: ["AppleNames"] + modules.map(\.name))],
    dependencies: [
        .package(name: "lookalike", path: "../..", traits: [.defaults, "SystemStores", "VisualSearchMacros"])
    ],
    targets: [
        .target(
            name: "AppleNames", dependencies: [.product(name: "VisualSearch", package: "lookalike", condition: onLinux)]
        )
    ]
        + modules.map { .target(name: $0.name, dependencies: $0.dependencies) },
    swiftLanguageModes: [.v6]
)

#if os(Linux)
// The same program in both language modes: it imports Apple's modules alone, as a program for Apple's systems does.
let program = modules.map { Target.Dependency.target(name: $0.name) }
package.targets += [
    .target(
        name: "GalleryProgram5", dependencies: program, path: "Tests/GalleryProgram5",
        swiftSettings: [.swiftLanguageMode(.v5)]),
    .target(name: "GalleryProgram6", dependencies: program, path: "Tests/GalleryProgram6"),
    .testTarget(
        name: "AppleNamesTests",
        dependencies: [
            "GalleryProgram5", "GalleryProgram6", .product(name: "VisualSearchHost", package: "lookalike"),
            .product(name: "SystemStores", package: "lookalike"),
        ] + program),
]
#endif
