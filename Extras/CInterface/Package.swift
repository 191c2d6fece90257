// swift-tools-version: 6.1
import PackageDescription

/// The traits of all packages in Extras without macros, so that these compile the core once for all of them. With
/// `LOOKALIKE_SHARED=1` they are default traits: see the manifest in the root.
let traits: Set<Package.Dependency.Trait> =
    Context.environment["LOOKALIKE_SHARED"] == "1"
    ? [.defaults] : [.defaults, "Barcodes", "ONNXImport", "Service", "SystemStores", "TextRecognition"]

// The shared library with the C interface, whose functions are in the package in the root. SwiftPM takes a library and
// a program of one name for one, so that “make library” gives it the name liblookalike.so.
let package = Package(
    name: "lookalike-c-interface",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [.library(name: "lookalike-c", type: .dynamic, targets: ["LookalikeLibrary"])],
    dependencies: [
        .package(name: "lookalike", path: "../..", traits: traits)
    ],
    targets: [
        .target(
            name: "LookalikeLibrary", dependencies: [.product(name: "CInterface", package: "lookalike")],
            linkerSettings: [
                .unsafeFlags(
                    [
                        "-Xlinker", "--version-script=\(Context.packageDirectory)/exports.map",
                        "-Xlinker", "-soname=liblookalike.so",
                    ], .when(platforms: [.linux]))
            ])
    ],
    swiftLanguageModes: [.v6]
)
