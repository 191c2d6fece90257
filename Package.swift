// swift-tools-version: 6.1
import CompilerPluginSupport
import PackageDescription

let package = Package(
    name: "lookalike",
    products: [
        .library(name: "Lookalike", targets: ["Lookalike"]),
        .library(name: "VisualSearch", targets: ["VisualSearch"]),
        .library(name: "VisualSearchMacros", targets: ["VisualSearchMacros"]),
        .library(name: "SystemStores", targets: ["SystemStores"]),
        .executable(name: "lookalike", targets: ["LookalikeCommand"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        // For “swift package generate-documentation”.
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
        // Built for the macros alone.
        .package(url: "https://github.com/swiftlang/swift-syntax", "600.0.1"..<"604.0.0"),
    ],
    targets: [
        // The core, lowest layer first; a target knows only of those above it in this list.
        .target(name: "CKernels"),
        .target(name: "Kernels", dependencies: ["CKernels"]),
        .target(name: "CProcessors"),
        .target(name: "Parallelism", dependencies: ["CProcessors"]),
        .target(
            name: "CImageCodecs", dependencies: ["CPNG", "CJPEG"],
            // Where there is no pkg-config, nothing else tells the linker: module maps do so for Swift alone.
            linkerSettings: [.linkedLibrary("png16"), .linkedLibrary("jpeg")]),
        .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
        .systemLibrary(name: "CJPEG", pkgConfig: "libjpeg", providers: [.apt(["libjpeg62-turbo-dev"])]),
        .systemLibrary(name: "COpenBLAS", pkgConfig: "openblas", providers: [.apt(["libopenblas-dev"])]),
        .target(name: "PixelBuffers", dependencies: ["CImageCodecs"]),
        .target(name: "Resizing", dependencies: ["CKernels", "Kernels", "PixelBuffers"]),
        .target(name: "NearestNeighbors", dependencies: ["CKernels", "Kernels", "Parallelism", "COpenBLAS"]),
        .target(
            name: "FeaturePrints",
            dependencies: [
                "CKernels", "Kernels", "NearestNeighbors", "Parallelism", "PixelBuffers", "Resizing",
                .product(name: "Crypto", package: "swift-crypto"),
            ]
        ),
        .target(
            name: "DefaultModel", dependencies: ["FeaturePrints"], path: "Models",
            exclude: ["report", "training", "README.md"], sources: ["DefaultModel.swift"],
            resources: [.copy("default.safetensors")]
        ),
        .target(
            name: "Catalogs",
            dependencies: [
                "DefaultModel", "FeaturePrints", "NearestNeighbors", "Parallelism", "PixelBuffers", "Resizing",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ]
        ),
        .target(
            name: "Lookalike",
            dependencies: ["Catalogs", "DefaultModel", "FeaturePrints", "NearestNeighbors", "PixelBuffers", "Resizing"]
        ),
        .target(
            name: "VisualSearch", dependencies: ["Catalogs", "DefaultModel", "FeaturePrints", "PixelBuffers"]
        ),
        .macro(
            name: "VisualSearchMacroPlugin",
            dependencies: [
                .product(name: "SwiftCompilerPlugin", package: "swift-syntax"),
                .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
            ]
        ),
        .target(name: "VisualSearchMacros", dependencies: ["VisualSearch", "VisualSearchMacroPlugin"]),
        .systemLibrary(name: "CLibical", pkgConfig: "libical", providers: [.apt(["libical-dev"])]),
        .target(name: "SystemStores", dependencies: ["CLibical"]),
        .executableTarget(
            name: "LookalikeCommand",
            // All layers by name, not through Lookalike alone: an incremental build compiles a target
            // anew when a target it names has changed, and not when one behind a re-export has.
            dependencies: [
                "Catalogs", "DefaultModel", "FeaturePrints", "Kernels", "Lookalike", "PixelBuffers", "Resizing",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]
        ),
        .executableTarget(
            name: "AlbumSearch",
            dependencies: [
                "Catalogs", "FeaturePrints", "PixelBuffers", "SystemStores", "VisualSearch", "VisualSearchMacros",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Examples/AlbumSearch/Sources"
        ),

        .target(name: "TestSupport", dependencies: ["PixelBuffers"], path: "Tests/TestSupport"),
        .testTarget(name: "KernelTests", dependencies: ["CKernels", "Kernels", "TestSupport"]),
        .testTarget(
            name: "PixelBufferTests", dependencies: ["PixelBuffers", "TestSupport"],
            exclude: ["make_fixtures.py"], resources: [.copy("Fixtures")]),
        .testTarget(name: "ResizingTests", dependencies: ["Kernels", "Resizing", "TestSupport"]),
        .testTarget(
            name: "FeaturePrintTests", dependencies: ["DefaultModel", "FeaturePrints", "Kernels", "Resizing", "TestSupport"],
            resources: [.copy("Fixtures")]),
        .testTarget(name: "NearestNeighborTests", dependencies: ["Kernels", "NearestNeighbors", "TestSupport"]),
        .testTarget(
            name: "CatalogTests",
            dependencies: ["Catalogs", "FeaturePrints", "PixelBuffers", "TestSupport", .product(name: "GRDB", package: "GRDB.swift")]),
        .testTarget(name: "VisualSearchTests", dependencies: ["Catalogs", "FeaturePrints", "PixelBuffers", "TestSupport", "VisualSearch", "VisualSearchMacros"]),
        .testTarget(name: "SystemStoresTests", dependencies: ["SystemStores", "TestSupport"]),
        .testTarget(name: "CommandTests", dependencies: ["LookalikeCommand", "TestSupport"]),
    ],
    swiftLanguageModes: [.v6]
)
