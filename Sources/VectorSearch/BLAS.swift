import Compute
import Foundation

/// Matrix products by a BLAS library ("A set of level 3 basic linear algebra subprograms", Dongarra et al., 1990) that
/// the machine has. It is opened when it is first wanted, so that no build depends on it.
///
/// BLIS is used, OpenBLAS if it is set to one thread, and Accelerate on Apple's systems: searches compute on
/// threads of their own, and the settings of a library are those of the host, which are not touched.
///
/// Unchecked: it holds a function and a constant string.
struct BLAS: @unchecked Sendable {
    /// C ← α · A · Bᵀ + β · C, with the parameters of `cblas_sgemm`.
    private typealias Product =
        @convention(c) (
            CInt, CInt, CInt, CInt, CInt, CInt, Float, UnsafePointer<Float>, CInt, UnsafePointer<Float>, CInt, Float,
            UnsafeMutablePointer<Float>, CInt
        ) -> Void

    /// The file that the library was opened from.
    let name: String
    private let product: Product

    /// The first library that the machine has and that can be used; nil without one, or without the trait `BLAS`.
    static let installed: BLAS? = {
        #if !BLAS
        return nil
        #elseif canImport(Darwin)
        return BLAS("/System/Library/Frameworks/Accelerate.framework/Accelerate")
        #else
        // OpenBLAS starts its threads when it is opened. Its build without threads gives wrong sums to two
        // callers at once (0.3.21).
        let isSingle = environment("OPENBLAS_NUM_THREADS") == "1"
        return BLAS("libblis.so.4") ?? (isSingle ? BLAS("libopenblas.so.0") : nil)
        #endif
    }()

    /// The library for the products of a batch; nil where the kernels of this package are faster.
    ///
    /// The kernels are faster on every target that has its own; RESULTS.md has the table of batched distances.
    /// `LOOKALIKE_BLAS=on` and `off` decide for all batches.
    ///
    /// - Parameter wanted: decides instead.
    static func forBatch(of count: Int, kernels: SIMDTarget, wanted: Bool?) -> BLAS? {
        let isFaster = kernels.name == "portable" && count >= fewestQueries
        return wanted ?? setting ?? isFaster ? installed : nil
    }

    /// What `LOOKALIKE_BLAS` says; nil without it.
    private static let setting = ["on": true, "off": false][environment("LOOKALIKE_BLAS")?.lowercased() ?? ""]

    /// For fewer queries a library packs more than it multiplies.
    private static let fewestQueries = 32

    private static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    private init?(_ name: String) {
        guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL), let product = dlsym(library, "cblas_sgemm") else {
            return nil
        }
        if let isParallel = dlsym(library, "openblas_get_parallel") {
            guard unsafeBitCast(isParallel, to: (@convention(c) () -> CInt).self)() != 0 else { return nil }
        }
        self.name = name
        self.product = unsafeBitCast(product, to: Product.self)
    }

    /// Writes −2 x·q of `rowCount` rows and `queryCount` queries of `dimension` floats: a line of products per row.
    func multiply(
        rows: UnsafePointer<Float>, rowCount: Int, queries: UnsafePointer<Float>, queryCount: Int, dimension: Int,
        into products: UnsafeMutablePointer<Float>
    ) {
        let (rowMajor, plain, transposed): (CInt, CInt, CInt) = (101, 111, 112)
        product(
            rowMajor, plain, transposed, CInt(rowCount), CInt(queryCount), CInt(dimension), -2, rows, CInt(dimension),
            queries, CInt(dimension), 0, products, CInt(queryCount))
    }
}
