// swift-tools-version: 6.1
import PackageDescription

// On Apple's platforms the system has the modules that the programs import, and nothing of this repository is linked.
let appleNames = Target.Dependency.product(
    name: "AppleNames", package: "lookalike", condition: .when(platforms: [.linux]))

let package = Package(
    name: "visual-intelligence",
    platforms: [.macOS("26.0"), .iOS("26.0")],
    dependencies: [.package(name: "lookalike", path: "../..", traits: [.defaults, "AppleNames"])],
    targets: [
        .target(name: "Pictures", dependencies: [appleNames]),
        .target(name: "Landmarks", dependencies: ["Pictures", appleNames]),
        .target(
            name: "Music",
            dependencies: [
                "Pictures", appleNames,
                .product(
                    name: "SystemStores", package: "lookalike", condition: .when(platforms: [.linux])),
            ]),
        .testTarget(name: "ProgramTests", dependencies: ["Landmarks", "Music", "Pictures", appleNames]),
    ],
    swiftLanguageModes: [.v6]
)

#if os(Linux)
// On Apple's platforms the system runs the programs.
package.targets.append(
    .executableTarget(
        name: "Host",
        dependencies: [
            "Landmarks", "Music", "Pictures", appleNames, .product(name: "VisualSearchHost", package: "lookalike"),
        ]))
#endif
