// swift-tools-version: 6.1
import PackageDescription

// On Apple's platforms the programs import Apple's modules, and nothing of this repository is linked.
let onLinux = TargetDependencyCondition.when(platforms: [.linux])

let package = Package(
    name: "visual-intelligence",
    platforms: [.macOS("26.0"), .iOS("26.0")],
    dependencies: [
        .package(name: "lookalike-system-stores", path: "../../Extras/SystemStores"),
        .package(name: "lookalike-visual-search-macros", path: "../../Extras/VisualSearchMacros"),
    ],
    targets: [
        .target(
            name: "Pictures",
            dependencies: [
                .product(
                    name: "VisualSearchMacros", package: "lookalike-visual-search-macros", condition: onLinux)
            ]),
        .target(
            name: "Landmarks",
            dependencies: [
                "Pictures",
                .product(
                    name: "VisualSearchMacros", package: "lookalike-visual-search-macros", condition: onLinux),
            ]),
        .target(
            name: "Music",
            dependencies: [
                "Pictures",
                .product(name: "SystemStores", package: "lookalike-system-stores", condition: onLinux),
                .product(
                    name: "VisualSearchMacros", package: "lookalike-visual-search-macros", condition: onLinux),
            ]),
        .testTarget(name: "ProgramTests", dependencies: ["Landmarks", "Music", "Pictures"]),
    ],
    swiftLanguageModes: [.v6]
)
