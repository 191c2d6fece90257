// swift-tools-version: 6.1
import PackageDescription

// On Apple's platforms the programs import Apple's modules, and nothing of this repository is linked.
let onLinux = TargetDependencyCondition.when(platforms: [.linux])

let package = Package(
    name: "visual-intelligence",
    platforms: [.macOS("26.0"), .iOS("26.0")],
    dependencies: [
        .package(name: "lookalike", path: "../..", traits: [.defaults, "SystemStores", "VisualSearchMacros"])
    ],
    targets: [
        .target(
            name: "Pictures",
            dependencies: [
                .product(
                    name: "VisualSearchMacros", package: "lookalike", condition: onLinux)
            ]),
        .target(
            name: "Landmarks",
            dependencies: [
                "Pictures",
                .product(
                    name: "VisualSearchMacros", package: "lookalike", condition: onLinux),
            ]),
        .target(
            name: "Music",
            dependencies: [
                "Pictures",
                .product(name: "SystemStores", package: "lookalike", condition: onLinux),
                .product(
                    name: "VisualSearchMacros", package: "lookalike", condition: onLinux),
            ]),
        .testTarget(name: "ProgramTests", dependencies: ["Landmarks", "Music", "Pictures"]),
    ],
    swiftLanguageModes: [.v6]
)
