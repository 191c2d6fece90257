// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "lookalike-onnx-import",
    products: [
        .library(name: "ONNXImport", targets: ["ONNXImport"]),
        .executable(name: "lookalike-import", targets: ["LookalikeImport"]),
    ],
    dependencies: [
        .package(name: "lookalike", path: "../.."),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        .target(
            name: "ONNXImport",
            dependencies: [
                .product(name: "Lookalike", package: "lookalike"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ],
            exclude: ["Format/onnx.proto"]),
        .executableTarget(
            name: "LookalikeImport",
            dependencies: [
                "ONNXImport", .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CommandProcess", package: "lookalike"),
            ]),
        .testTarget(
            name: "ONNXImportTests",
            dependencies: ["ONNXImport", .product(name: "Lookalike", package: "lookalike")],
            exclude: ["make_fixtures.py"], resources: [.copy("Fixtures")]),
    ],
    swiftLanguageModes: [.v6]
)
