// swift-tools-version: 6.1
import PackageDescription

/// An optional library of the C decoders; without its trait nothing names its headers or its binary.
func library(_ name: String, _ trait: String) -> Target.Dependency {
    .target(name: name, condition: .when(traits: [trait]))
}

/// The default model for the targets that use it if they are given none; without its trait they do not link it.
let defaultModel = Target.Dependency.target(name: "DefaultModel", condition: .when(traits: ["DefaultModel"]))

let package = Package(
    name: "lookalike",
    products: [
        .library(name: "Lookalike", targets: ["Lookalike"]),
        .library(name: "DefaultModel", targets: ["DefaultModel"]),
        .library(name: "VisualSearch", targets: ["VisualSearch"]),
        .library(name: "Barcodes", targets: ["Barcodes"]),
        // For the programs in Extras.
        .library(name: "CommandProcess", targets: ["CommandProcess"]),
        .library(name: "Digests", targets: ["Digests"]),
        .executable(name: "lookalike", targets: ["LookalikeCommand"]),
    ],
    traits: [
        .trait(
            name: "DefaultModel",
            description: "Links the default model's weights (15 MB): catalogs without a model of their own use it."),
        .trait(name: "WebP", description: "Reads WebP files with libwebp."),
        .trait(name: "HEIF", description: "Reads HEIC and AVIF files with libheif, libde265 and dav1d."),
        .trait(name: "GIF", description: "Reads the first frame of GIF files with giflib."),
        .trait(name: "TIFF", description: "Reads the first page of TIFF files with libtiff."),
        .trait(
            name: "ColorManagement",
            description: "Converts colors through ICC profiles with tables, those of CMYK among them, with lcms2."),
        .trait(
            name: "BLAS",
            description: "Multiplies batches by a BLAS library that the machine has, where it is faster."),
        .trait(name: "Barcodes", description: "Reads barcodes of queries with zxing-cpp."),
        .default(enabledTraits: ["BLAS", "DefaultModel", "WebP", "HEIF", "GIF", "TIFF", "ColorManagement"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        // Lowest layer first: a target depends only on targets above it in this list.
        .systemLibrary(
            name: "CPNG", path: "Sources/SystemLibraries/CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
        .systemLibrary(
            name: "CJPEG", path: "Sources/SystemLibraries/CJPEG", pkgConfig: "libjpeg",
            providers: [.apt(["libjpeg62-turbo-dev"])]),
        .systemLibrary(
            name: "COpenSSL", path: "Sources/SystemLibraries/COpenSSL", pkgConfig: "libcrypto",
            providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CWebP", path: "Sources/SystemLibraries/CWebP", pkgConfig: "libwebp",
            providers: [.apt(["libwebp-dev"])]),
        .systemLibrary(
            name: "CHEIF", path: "Sources/SystemLibraries/CHEIF", pkgConfig: "libheif",
            providers: [.apt(["libheif-dev", "libde265-dev", "libdav1d-dev"])]),
        // giflib comes without a file for pkg-config.
        .systemLibrary(name: "CGIF", path: "Sources/SystemLibraries/CGIF", providers: [.apt(["libgif-dev"])]),
        .systemLibrary(
            name: "CTIFF", path: "Sources/SystemLibraries/CTIFF", pkgConfig: "libtiff-4",
            providers: [.apt(["libtiff-dev"])]),
        .systemLibrary(
            name: "CLCMS", path: "Sources/SystemLibraries/CLCMS", pkgConfig: "lcms2",
            providers: [.apt(["liblcms2-dev"])]),
        .target(
            name: "CImageCodecs",
            dependencies: [
                "CPNG", "CJPEG", library("CWebP", "WebP"), library("CHEIF", "HEIF"), library("CGIF", "GIF"),
                library("CTIFF", "TIFF"), library("CLCMS", "ColorManagement"),
            ],
            cSettings: [
                .define("LK_WEBP", .when(traits: ["WebP"])), .define("LK_HEIF", .when(traits: ["HEIF"])),
                .define("LK_GIF", .when(traits: ["GIF"])), .define("LK_TIFF", .when(traits: ["TIFF"])),
                .define("LK_COLOR_MANAGEMENT", .when(traits: ["ColorManagement"])),
            ],
            // Without pkg-config nothing else names the libraries to the linker: module maps do so for Swift alone.
            linkerSettings: [
                .linkedLibrary("png16"), .linkedLibrary("jpeg"), .linkedLibrary("z"),
                .linkedLibrary("webp", .when(traits: ["WebP"])), .linkedLibrary("heif", .when(traits: ["HEIF"])),
                .linkedLibrary("de265", .when(traits: ["HEIF"])), .linkedLibrary("dav1d", .when(traits: ["HEIF"])),
                .linkedLibrary("gif", .when(traits: ["GIF"])), .linkedLibrary("tiff", .when(traits: ["TIFF"])),
                .linkedLibrary("lcms2", .when(traits: ["ColorManagement"])),
            ]),
        .target(name: "CKernels"),
        .target(name: "CMappedFiles"),
        .target(name: "Digests", dependencies: ["COpenSSL"]),
        .target(name: "Compute", dependencies: ["CKernels"]),
        .target(name: "Imaging", dependencies: ["CImageCodecs", "CKernels", "Compute"]),
        .target(name: "VectorSearch", dependencies: ["CKernels", "Compute"]),
        .target(name: "Inference", dependencies: ["CKernels", "Compute", "Digests"]),
        .target(
            name: "FeaturePrints",
            dependencies: ["Compute", "Digests", "Imaging", "Inference", "VectorSearch"]),
        .target(
            name: "LocalFeatures",
            dependencies: ["CKernels", "Compute", "Digests", "FeaturePrints", "Imaging", "Inference"]),
        .target(
            name: "DefaultModel", dependencies: ["FeaturePrints", "Inference", "LocalFeatures"], path: "Models",
            exclude: ["report", "training", "README.md"],
            sources: ["DefaultModel.swift", "DefaultLocalFeatureModel.swift", "DefaultModelFile.swift"],
            resources: [.copy("default.safetensors"), .copy("local-features.safetensors")]),
        .target(
            name: "Catalogs",
            dependencies: [
                "CMappedFiles", "Compute", defaultModel, "Digests", "FeaturePrints", "Imaging", "Inference",
                "LocalFeatures", "VectorSearch", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        .target(name: "VisualSearch", dependencies: ["Catalogs", "Compute", defaultModel, "FeaturePrints", "Imaging"]),
        .target(
            name: "Lookalike",
            dependencies: [
                "Catalogs", "Compute", defaultModel, "FeaturePrints", "Imaging", "Inference", "LocalFeatures",
                "VectorSearch",
            ]),
        .target(
            name: "CBarcodes", path: "Extras/Barcodes/Sources/CBarcodes",
            cxxSettings: [.define("LK_BARCODES", .when(traits: ["Barcodes"]))],
            linkerSettings: [.linkedLibrary("ZXing", .when(traits: ["Barcodes"]))]),
        .target(
            name: "Barcodes", dependencies: ["CBarcodes", "Imaging"], path: "Extras/Barcodes/Sources/Barcodes"),
        .target(name: "CommandProcess", dependencies: ["Compute"]),
        .executableTarget(
            name: "LookalikeCommand",
            // All layers by name, not through Lookalike alone: an incremental build compiles a target
            // anew when a target it names has changed, and not when one behind a re-export has.
            dependencies: [
                "Catalogs", "CommandProcess", "Compute", "DefaultModel", "FeaturePrints", "Imaging", "Inference",
                "LocalFeatures", "Lookalike", "VectorSearch",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .target(name: "Barcodes", condition: .when(traits: ["Barcodes"])),
            ]),

        .target(name: "TestSupport", dependencies: ["Imaging"], path: "Tests/TestSupport"),
        .testTarget(name: "KernelTests", dependencies: ["CKernels", "Compute", "TestSupport"]),
        .testTarget(
            name: "ImagingTests", dependencies: ["CImageCodecs", "Compute", "Imaging", "TestSupport"],
            exclude: ["make_fixtures.py", "make_format_fixtures.py"], resources: [.copy("Fixtures")]),
        .testTarget(name: "VectorSearchTests", dependencies: ["Compute", "TestSupport", "VectorSearch"]),
        .testTarget(
            name: "InferenceTests",
            dependencies: ["DefaultModel", "FeaturePrints", "Imaging", "Inference", "TestSupport"]),
        .testTarget(
            name: "LocalFeatureTests",
            dependencies: [
                "CKernels", "Compute", "DefaultModel", "Imaging", "Inference", "LocalFeatures", "TestSupport",
            ]),
        .testTarget(
            name: "FeaturePrintTests",
            dependencies: ["Compute", "DefaultModel", "FeaturePrints", "Imaging", "Inference", "TestSupport"],
            resources: [.copy("Fixtures")]),
        .testTarget(
            name: "CatalogTests",
            dependencies: [
                "Catalogs", "Compute", "DefaultModel", "Digests", "FeaturePrints", "Imaging", "Inference",
                "TestSupport", "VectorSearch", .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .testTarget(
            name: "VisualSearchTests",
            dependencies: ["Catalogs", "Compute", "FeaturePrints", "Imaging", "TestSupport", "VisualSearch"]),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "Catalogs", "DefaultModel", "FeaturePrints", "Imaging", "LocalFeatures", "LookalikeCommand",
                "TestSupport",
            ]),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)

for target in package.targets where target.type != .system {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ]
}
