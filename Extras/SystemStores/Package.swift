// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "lookalike-system-stores",
    products: [.library(name: "SystemStores", targets: ["SystemStores"])],
    targets: [
        .systemLibrary(name: "CLibical", pkgConfig: "libical", providers: [.apt(["libical-dev"])]),
        .target(name: "SystemStores", dependencies: ["CLibical"]),
        .testTarget(name: "SystemStoresTests", dependencies: ["SystemStores"]),
    ],
    swiftLanguageModes: [.v6]
)
