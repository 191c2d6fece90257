// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "live-catalog",
    platforms: [.macOS(.v15), .iOS(.v18)],
    dependencies: [.package(name: "lookalike", path: "../..")],
    targets: [
        .executableTarget(name: "LiveCatalog", dependencies: [.product(name: "Lookalike", package: "lookalike")])
    ],
    swiftLanguageModes: [.v6]
)
