// swift-tools-version: 6.1
import PackageDescription

let swiftSettings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "lookalike-system-stores",
    products: [
        .library(name: "SystemStores", targets: ["SystemStores"]),
        .library(name: "ContactPhotos", targets: ["ContactPhotos"]),
    ],
    dependencies: [.package(name: "lookalike", path: "../..")],
    targets: [
        .systemLibrary(name: "CLibical", pkgConfig: "libical", providers: [.apt(["libical-dev"])]),
        .systemLibrary(name: "CLibXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
        .target(
            name: "CXMLReader", dependencies: ["CLibXML2"],
            // Without pkg-config nothing else names the library to the linker: module maps do so for Swift alone.
            linkerSettings: [.linkedLibrary("xml2")]),
        .target(name: "SystemStores", dependencies: ["CLibical", "CXMLReader"], swiftSettings: swiftSettings),
        .target(
            name: "ContactPhotos", dependencies: ["SystemStores", .product(name: "Lookalike", package: "lookalike")],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "SystemStoresTests",
            dependencies: ["ContactPhotos", "SystemStores", .product(name: "Lookalike", package: "lookalike")]),
    ],
    swiftLanguageModes: [.v6]
)
