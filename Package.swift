// swift-tools-version: 6.1
import CompilerPluginSupport
import Foundation
import PackageDescription

/// A system library of a trait; without the trait nothing names its headers or its binary.
func library(_ name: String, _ trait: String) -> Target.Dependency {
    .target(name: name, condition: .when(traits: [trait]))
}

/// A library that the C decoders use if its trait is enabled and its headers are there. A missing one costs its format,
/// not the build.
///
/// SwiftPM keeps what a manifest says, and does not evaluate it again when a library is installed: the C decoders stop
/// the build then (`missing_libraries.c`). `LOOKALIKE_LIBRARIES=all` in the environment looks for none, such as to
/// compile for another system.
struct ImageLibrary {
    let trait: String
    let module: String
    /// The macro of the C decoders, and the condition in Swift.
    let condition: String
    let headers: [String]
    let pkgConfig: String?
    let apt: [String]
    let brew: [String]
    let linked: [String]

    static let all = [
        ImageLibrary(
            trait: "WebP", module: "CWebP", condition: "LK_WEBP", headers: ["webp/decode.h"], pkgConfig: "libwebp",
            apt: ["libwebp-dev"], brew: ["webp"], linked: ["webp"]),
        ImageLibrary(
            trait: "HEIF", module: "CHEIF", condition: "LK_HEIF",
            headers: ["libheif/heif.h", "libde265/de265.h", "dav1d/dav1d.h"], pkgConfig: "libheif",
            apt: ["libheif-dev", "libde265-dev", "libdav1d-dev"], brew: ["libheif", "libde265", "dav1d"],
            linked: ["heif", "de265", "dav1d"]),
        // giflib comes without a file for pkg-config.
        ImageLibrary(
            trait: "GIF", module: "CGIF", condition: "LK_GIF", headers: ["gif_lib.h"], pkgConfig: nil,
            apt: ["libgif-dev"], brew: ["giflib"], linked: ["gif"]),
        ImageLibrary(
            trait: "TIFF", module: "CTIFF", condition: "LK_TIFF", headers: ["tiffio.h"], pkgConfig: "libtiff-4",
            apt: ["libtiff-dev"], brew: ["libtiff"], linked: ["tiff"]),
        ImageLibrary(
            trait: "ColorManagement", module: "CLCMS", condition: "LK_COLOR_MANAGEMENT", headers: ["lcms2.h"],
            pkgConfig: "lcms2", apt: ["liblcms2-dev"], brew: ["little-cms2"], linked: ["lcms2"]),
    ]
    static let found = all.filter(\.isInstalled)
    static let missing = all.filter { !$0.isInstalled }

    var target: Target {
        .systemLibrary(
            name: module, path: "Sources/SystemLibraries/\(module)", pkgConfig: pkgConfig,
            providers: [.apt(apt), .brew(brew)])
    }

    private var isInstalled: Bool {
        if Context.environment["LOOKALIKE_LIBRARIES"] == "all" { return true }
        func paths(_ variable: String) -> [String] {
            (Context.environment[variable] ?? "").split(separator: ":").map(String.init)
        }
        // Where compilers look, and beside the files of pkg-config, which SwiftPM reads.
        var folders = ["/usr/include", "/usr/local/include"] + paths("CPATH") + paths("C_INCLUDE_PATH")
        folders += ["x86_64", "aarch64"].map { "/usr/include/\($0)-linux-gnu" }
        if let pkgConfig {
            folders += (paths("PKG_CONFIG_PATH") + ["/opt/homebrew/lib/pkgconfig", "/usr/local/lib/pkgconfig"])
                .filter { FileManager.default.fileExists(atPath: "\($0)/\(pkgConfig).pc") }
                .map { $0 + "/../../include" }
        }
        return headers.allSatisfy { header in
            folders.contains { FileManager.default.fileExists(atPath: "\($0)/\(header)") }
        }
    }
}

/// The default model for the targets that use it if they are given none; without its trait they do not link it.
let defaultModel = Target.Dependency.target(name: "DefaultModel", condition: .when(traits: ["DefaultModel"]))

/// Modules with the names of Apple's, which its systems have themselves: the product `AppleNames` is empty there, so a
/// program that depends on it is the same on both.
#if os(Linux)
let appleModules = ["AppIntents", "CoreImage", "EventKit", "ImageIO", "VideoToolbox", "Vision", "VisualIntelligence"]
#else
let appleModules: [String] = []
#endif

/// A product of another package, which is fetched with the trait alone.
func product(_ name: String, _ package: String, _ trait: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: [trait]))
}

/// With `LOOKALIKE_SHARED=1` in the environment also those that the packages in Extras ask for, so that the core is
/// compiled once for these and for the package itself. Default traits come to the compiler in the same order for all.
var defaultTraits: Set = ["BLAS", "DefaultModel", "WebP", "HEIF", "GIF", "TIFF", "ColorManagement"]
if Context.environment["LOOKALIKE_SHARED"] == "1" {
    defaultTraits.formUnion(["Barcodes", "ONNXImport", "Service", "SystemStores", "TextRecognition"])
}

let package = Package(
    name: "lookalike",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "Lookalike", targets: ["Lookalike"]),
        .library(name: "DefaultModel", targets: ["DefaultModel"]),
        .library(name: "VisualSearch", targets: ["VisualSearch"]),
        // What few apps name: networks, local features, and Apple's shapes without a meaning over a catalog.
        .library(name: "AppleShapes", targets: ["AppleShapes"]),
        .library(name: "Inference", targets: ["Inference"]),
        .library(name: "LocalFeatures", targets: ["LocalFeatures"]),
        // Each needs the trait of its name; ContactPhotos needs SystemStores, and LookalikeService needs Service.
        .library(name: "AppleNames", targets: ["AppleNames"] + appleModules),
        .library(name: "Barcodes", targets: ["Barcodes"]),
        .library(name: "ContactPhotos", targets: ["ContactPhotos"]),
        .library(name: "LookalikeService", targets: ["LookalikeService", "Multipart", "PrometheusMetrics"]),
        .library(name: "ONNXImport", targets: ["ONNXImport"]),
        .library(name: "SystemStores", targets: ["SystemStores"]),
        .library(name: "TextRecognition", targets: ["TextRecognition"]),
        .library(name: "VisualSearchMacros", targets: ["VisualSearchMacros"]),
        // For the programs in Extras.
        .library(name: "CommandProcess", targets: ["CommandProcess"]),
        .library(name: "Digests", targets: ["Digests"]),
        .executable(name: "lookalike", targets: ["LookalikeCommand"]),
        .library(name: "VisualSearchHost", targets: ["VisualSearchHost"]),
        // The C interface. “make library” gives it the name liblookalike.so, which here is that of the program.
        .library(name: "lookalike-c", type: .dynamic, targets: ["CInterface"]),
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
        .trait(
            name: "AppleNames",
            description: "Modules on Linux with the names of Apple's: a visual search for both has the same imports.",
            enabledTraits: ["SystemStores", "VisualSearchMacros"]),
        .trait(name: "Barcodes", description: "Reads barcodes of queries with zxing-cpp."),
        .trait(name: "ONNXImport", description: "The import of networks in ONNX format, with protocol buffers."),
        .trait(name: "Service", description: "The service over HTTP, with Hummingbird."),
        .trait(
            name: "SystemStores",
            description: "Calendars, contacts and health readings from files, with libical and libxml2."),
        .trait(name: "TextRecognition", description: "Reads the text of queries with Tesseract."),
        .trait(
            name: "TLS", description: "HTTPS by the service itself. It builds BoringSSL, which takes minutes.",
            enabledTraits: ["Service"]),
        .trait(
            name: "VisualSearchMacros",
            description: "@UnionValue and @AppIntent(schema:), with swift-syntax."),
        .default(enabledTraits: defaultTraits),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        // Each is fetched with the traits of the products that need it.
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
        .package(
            url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: ["FullFoundation"]),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-syntax", "600.0.1"..<"604.0.0"),
    ],
    targets: [
        // Lowest layer first: a target depends only on targets above it in this list.
        .systemLibrary(
            name: "CPNG", path: "Sources/SystemLibraries/CPNG", pkgConfig: "libpng",
            providers: [.apt(["libpng-dev"]), .brew(["libpng"])]),
        .systemLibrary(
            name: "CJPEG", path: "Sources/SystemLibraries/CJPEG", pkgConfig: "libjpeg",
            providers: [.apt(["libjpeg62-turbo-dev"]), .brew(["jpeg-turbo"])]),
        .systemLibrary(
            name: "COpenSSL", path: "Sources/SystemLibraries/COpenSSL", pkgConfig: "libcrypto",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
        .systemLibrary(
            name: "CZlib", path: "Sources/SystemLibraries/CZlib", pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .target(
            name: "CImageCodecs", dependencies: ["CPNG", "CJPEG"],
            // Without pkg-config nothing else names the libraries to the linker: module maps do so for Swift alone.
            linkerSettings: [.linkedLibrary("png16"), .linkedLibrary("jpeg"), .linkedLibrary("z")]),
        .target(name: "CKernels"),
        .target(name: "CMappedFiles"),
        .target(name: "Digests", dependencies: ["COpenSSL"]),
        .target(name: "Compute", dependencies: ["CKernels"]),
        .target(name: "Imaging", dependencies: ["CImageCodecs", "CKernels", "Compute"]),
        .target(name: "VectorSearch", dependencies: ["CKernels", "Compute"]),
        .target(name: "Inference", dependencies: ["CKernels", "Compute", "Digests"]),
        .target(name: "Tokenizers"),
        .target(
            name: "FeaturePrints",
            dependencies: ["CKernels", "Compute", "Digests", "Imaging", "Inference", "Tokenizers", "VectorSearch"]),
        .target(
            name: "LocalFeatures",
            dependencies: ["CKernels", "Compute", "Digests", "FeaturePrints", "Imaging", "Inference"]),
        .target(
            name: "DefaultModel", dependencies: ["CMappedFiles", "FeaturePrints", "Inference", "LocalFeatures"],
            path: "Models",
            exclude: ["report", "training", "README.md"],
            sources: ["DefaultModel.swift", "DefaultLocalFeatureModel.swift", "DefaultModelFile.swift"],
            resources: [.copy("default.safetensors"), .copy("local-features.safetensors")]),
        // Catalogs, in layers: the search and the store know each other in the last one alone.
        .target(name: "CatalogEntities", dependencies: ["Compute", "FeaturePrints", "LocalFeatures"]),
        .target(
            name: "CatalogStore",
            dependencies: [
                "CatalogEntities", "CMappedFiles", "Compute", defaultModel, "Digests", "FeaturePrints", "Inference",
                "LocalFeatures", "VectorSearch", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        .target(
            name: "CatalogSearch",
            dependencies: [
                "CatalogEntities", "Compute", "FeaturePrints", "Imaging", "Inference", "LocalFeatures", "VectorSearch",
            ]),
        .target(
            name: "CatalogIndexing",
            dependencies: [
                "CatalogEntities", "CatalogStore", "Compute", "Digests", "FeaturePrints", "Imaging", "Inference",
                "LocalFeatures",
            ]),
        .target(
            name: "Catalogs",
            dependencies: [
                "CatalogEntities", "CatalogIndexing", "CatalogSearch", "CatalogStore", "CMappedFiles", "Compute",
                "FeaturePrints", "Imaging", "LocalFeatures", "VectorSearch",
            ]),
        .target(
            name: "VisualSearch",
            dependencies: [
                "CatalogEntities", "CatalogSearch", "Catalogs", "Compute", defaultModel, "FeaturePrints", "Imaging",
            ]),
        .target(
            name: "AppleShapes",
            dependencies: [
                "CatalogSearch", "Compute", defaultModel, "FeaturePrints", "Imaging", "LocalFeatures", "VisualSearch",
            ]),
        .target(
            name: "Lookalike",
            dependencies: [
                "CatalogEntities", "CatalogIndexing", "Catalogs", "CatalogSearch", "Compute", defaultModel,
                "FeaturePrints", "Imaging", "Inference", "LocalFeatures", "VectorSearch",
            ]),
        .target(name: "CommandProcess", dependencies: ["Compute", "VectorSearch"]),
        .target(name: "CLookalike"),
        .target(
            name: "CInterface",
            dependencies: [
                "CatalogEntities", "CatalogIndexing", "CatalogSearch", "Catalogs", "CKernels", "CLookalike", "Compute",
                "DefaultModel", "FeaturePrints", "Imaging", "VectorSearch",
            ], exclude: ["exports.map"]),
        .executableTarget(
            name: "LookalikeCommand",
            // All layers by name, not through Lookalike alone: an incremental build compiles a target
            // anew when a target it names has changed, and not when one behind a re-export has.
            dependencies: [
                "CatalogEntities", "CatalogIndexing", "Catalogs", "CatalogSearch", "CommandProcess", "Compute",
                "DefaultModel", "FeaturePrints", "Imaging", "Inference", "LocalFeatures", "Lookalike", "VectorSearch",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .target(name: "Barcodes", condition: .when(traits: ["Barcodes"])),
                .target(name: "TextRecognition", condition: .when(traits: ["TextRecognition"])),
            ]),

        // Products behind traits. Their sources are inside #if of the trait, so that a build of all targets has none.
        .target(
            name: "CBarcodes", path: "Extras/Barcodes/Sources/CBarcodes",
            cxxSettings: [.define("LK_BARCODES", .when(traits: ["Barcodes"]))],
            linkerSettings: [.linkedLibrary("ZXing", .when(traits: ["Barcodes"]))]),
        .target(
            name: "Barcodes", dependencies: ["CBarcodes", "Imaging"], path: "Extras/Barcodes/Sources/Barcodes"),
        .target(
            name: "CTextRecognition", path: "Extras/TextRecognition/Sources/CTextRecognition",
            cSettings: [.define("LK_TEXT_RECOGNITION", .when(traits: ["TextRecognition"]))],
            linkerSettings: [.linkedLibrary("tesseract", .when(traits: ["TextRecognition"]))]),
        .target(
            name: "TextRecognition", dependencies: ["CTextRecognition", "Compute", "Imaging"],
            path: "Extras/TextRecognition/Sources/TextRecognition"),
        .systemLibrary(
            name: "CLibical", path: "Extras/SystemStores/Sources/CLibical", pkgConfig: "libical",
            providers: [.apt(["libical-dev"]), .brew(["libical"])]),
        .systemLibrary(
            name: "CLibXML2", path: "Extras/SystemStores/Sources/CLibXML2", pkgConfig: "libxml-2.0",
            providers: [.apt(["libxml2-dev"]), .brew(["libxml2"])]),
        .target(
            name: "CXMLReader", dependencies: [library("CLibXML2", "SystemStores")],
            path: "Extras/SystemStores/Sources/CXMLReader",
            cSettings: [.define("LK_SYSTEM_STORES", .when(traits: ["SystemStores"]))],
            linkerSettings: [.linkedLibrary("xml2", .when(traits: ["SystemStores"]))]),
        .target(
            name: "SystemStores", dependencies: [library("CLibical", "SystemStores"), "CXMLReader"],
            path: "Extras/SystemStores/Sources/SystemStores"),
        .target(
            name: "ContactPhotos", dependencies: ["Lookalike", "SystemStores"],
            path: "Extras/SystemStores/Sources/ContactPhotos"),
        .target(
            name: "ONNXImport",
            dependencies: [
                library("CZlib", "ONNXImport"), "Inference", "Lookalike",
                product("SwiftProtobuf", "swift-protobuf", "ONNXImport"),
                "Tokenizers",
            ],
            path: "Extras/ONNXImport/Sources/ONNXImport", exclude: ["Format/onnx.proto"]),
        .target(name: "Multipart", path: "Extras/Service/Sources/Multipart"),
        .target(
            name: "PrometheusMetrics", dependencies: [product("Metrics", "swift-metrics", "Service")],
            path: "Extras/Service/Sources/PrometheusMetrics"),
        .target(
            name: "LookalikeService",
            dependencies: [
                "CatalogEntities", "CatalogIndexing", "Catalogs", "CommandProcess", "Compute",
                library("CZlib", "Service"), "Digests", "Lookalike", "Multipart", "PrometheusMetrics",
                product("Hummingbird", "hummingbird", "Service"),
                product("HummingbirdCore", "hummingbird", "Service"),
                product("HummingbirdTLS", "hummingbird", "TLS"), product("Logging", "swift-log", "Service"),
                product("Metrics", "swift-metrics", "Service"), product("NIOCore", "swift-nio", "Service"),
                product("NIOHTTP1", "swift-nio", "Service"), product("NIOPosix", "swift-nio", "Service"),
                product("NIOSSL", "swift-nio-ssl", "TLS"),
                product("ServiceLifecycle", "swift-service-lifecycle", "Service"),
                product("UnixSignals", "swift-service-lifecycle", "Service"),
            ],
            path: "Extras/Service/Sources/LookalikeService",
            resources: [.copy("Page/Resources"), .copy("openapi.json")]),
        .macro(
            name: "VisualSearchMacroPlugin",
            dependencies: [
                product("SwiftCompilerPlugin", "swift-syntax", "VisualSearchMacros"),
                product("SwiftSyntaxMacros", "swift-syntax", "VisualSearchMacros"),
            ],
            path: "Extras/VisualSearchMacros/Sources/VisualSearchMacroPlugin"),
        .target(
            name: "VisualSearchMacros", dependencies: ["VisualSearch", "VisualSearchMacroPlugin"],
            path: "Extras/VisualSearchMacros/Sources/VisualSearchMacros"),
        .target(
            name: "AppleNames", dependencies: ["AppleShapes", "VisualSearch"],
            path: "Extras/AppleNames/Sources/AppleNames"),

        .target(name: "TestSupport", dependencies: ["Imaging"], path: "Tests/TestSupport"),
        .testTarget(name: "KernelTests", dependencies: ["CKernels", "Compute", "TestSupport"]),
        .testTarget(
            name: "ImagingTests", dependencies: ["CImageCodecs", "Compute", "Imaging", "TestSupport"],
            exclude: ["make_fixtures.py", "make_format_fixtures.py"], resources: [.copy("Fixtures")]),
        .testTarget(name: "VectorSearchTests", dependencies: ["Compute", "TestSupport", "VectorSearch"]),
        .testTarget(
            name: "InferenceTests",
            dependencies: ["Compute", "DefaultModel", "FeaturePrints", "Imaging", "Inference", "TestSupport"]),
        .testTarget(
            name: "TokenizerTests", dependencies: ["Tokenizers"], exclude: ["make_fixtures.py"],
            resources: [.copy("Fixtures")]),
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
                "CatalogEntities", "CatalogIndexing", "Catalogs", "CatalogSearch", "CatalogStore", "Compute",
                "DefaultModel", "Digests", "FeaturePrints", "Imaging", "Inference", "TestSupport", "VectorSearch",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .testTarget(
            name: "VisualSearchTests",
            dependencies: [
                "AppleShapes", "Catalogs", "Compute", "FeaturePrints", "Imaging", "TestSupport", "VisualSearch",
            ]),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "Catalogs", "Compute", "DefaultModel", "FeaturePrints", "Imaging", "LocalFeatures", "LookalikeCommand",
                "TestSupport",
            ]),

        .target(name: "VisualSearchHost", dependencies: ["Compute", "Imaging", "VisualSearch"]),
        .testTarget(name: "VisualSearchHostTests", dependencies: ["Imaging", "TestSupport", "VisualSearchHost"]),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)

package.targets += ImageLibrary.found.map(\.target)
package.targets += appleModules.map {
    .target(
        name: $0, dependencies: ["AppleNames", "AppleShapes", "SystemStores", "VisualSearchMacros"],
        path: "Extras/AppleNames/Sources/\($0)")
}

for target in package.targets where target.type != .system {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ]
}
for target in package.targets {
    for library in ImageLibrary.found {
        let isEnabled = BuildSettingCondition.when(traits: [library.trait])
        switch target.name {
        case "CImageCodecs":
            target.dependencies.append(.target(name: library.module, condition: .when(traits: [library.trait])))
            target.cSettings = (target.cSettings ?? []) + [.define(library.condition, isEnabled)]
            target.linkerSettings? += library.linked.map { .linkedLibrary($0, isEnabled) }
        case "Imaging", "ImagingTests": target.swiftSettings?.append(.define(library.condition, isEnabled))
        default: break
        }
    }
    for library in ImageLibrary.missing where target.name == "CImageCodecs" {
        target.cSettings =
            (target.cSettings ?? []) + [.define(library.condition + "_MISSING", .when(traits: [library.trait]))]
    }
}
