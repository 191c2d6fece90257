// swift-tools-version: 6.1
import PackageDescription

/// The traits of all packages in Extras without macros, so that these compile the core once for all of them. With
/// `LOOKALIKE_SHARED=1` they are default traits: see the manifest in the root.
let traits: Set<Package.Dependency.Trait> =
    Context.environment["LOOKALIKE_SHARED"] == "1"
    ? [.defaults] : [.defaults, "Barcodes", "ONNXImport", "Service", "SystemStores", "TextRecognition"]

let swiftSettings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "lookalike-milvus",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "MilvusCatalog", targets: ["MilvusCatalog"]),
        .executable(name: "lookalike-milvus", targets: ["LookalikeMilvus"]),
    ],
    dependencies: [
        .package(name: "lookalike", path: "../..", traits: traits),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0", traits: []),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
    ],
    targets: [
        // Lowest layer first: a target depends only on targets above it in this list.
        .target(
            name: "MilvusCatalog",
            dependencies: [
                .product(name: "Digests", package: "lookalike"),
                .product(name: "GRPCCore", package: "grpc-swift-2"),
                .product(name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport"),
                .product(name: "Lookalike", package: "lookalike"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ],
            exclude: ["Client/milvus.proto"], swiftSettings: swiftSettings),
        .executableTarget(
            name: "LookalikeMilvus",
            dependencies: [
                "MilvusCatalog",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CommandProcess", package: "lookalike"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Lookalike", package: "lookalike"),
                .product(name: "LookalikeService", package: "lookalike"),
            ], swiftSettings: swiftSettings),
        .testTarget(
            name: "MilvusTests",
            dependencies: [
                "LookalikeMilvus", "MilvusCatalog",
                .product(name: "GRPCCore", package: "grpc-swift-2"),
                .product(name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport"),
                .product(name: "Lookalike", package: "lookalike"),
            ], swiftSettings: swiftSettings),
    ],
    swiftLanguageModes: [.v6]
)
