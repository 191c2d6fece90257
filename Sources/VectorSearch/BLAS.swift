import Compute
import Foundation

/// Matrix products by a BLAS library ("A set of level 3 basic linear algebra subprograms", Dongarra et al., 1990) that
/// the machine has: Accelerate on Apple's systems, else OpenBLAS or BLIS. It is opened when it is first wanted, so that
/// no build depends on it.
///
/// Its settings are those of the host, which are not touched. (`openblas_set_num_threads_local` is local with OpenMP
/// alone.) A library that computes on threads of its own gets products in one piece, and only from callers who allow as
/// many threads.
///
/// Unchecked: it holds functions and a constant string.
package struct BLAS: @unchecked Sendable {
    /// C ← α · A · Bᵀ + β · C, with the parameters of `cblas_sgemm`.
    private typealias Product =
        @convention(c) (
            CInt, CInt, CInt, CInt, CInt, CInt, Float, UnsafePointer<Float>, CInt, UnsafePointer<Float>, CInt, Float,
            UnsafeMutablePointer<Float>, CInt
        ) -> Void

    /// The file that the library was opened from.
    package let name: String
    private let product: Product
    /// How many threads a product is computed on, the caller's among them; 1 without it.
    private let threads: (@convention(c) () -> CInt)?

    /// The first library that the machine has and that can be used; nil without one, or without the trait `BLAS`.
    package static let installed: BLAS? = {
        #if !BLAS
        return nil
        #elseif canImport(Darwin)
        return BLAS("/System/Library/Frameworks/Accelerate.framework/Accelerate")
        #else
        return BLAS("libopenblas.so.0") ?? BLAS("libblis.so.4")
        #endif
    }()

    /// How callers compute a batch.
    enum Use {
        /// Each on threads of its own.
        case onEachThread(BLAS)
        /// In one piece: the library divides the work.
        case inOnePiece(BLAS)
    }

    /// The library for the products of a batch; nil where the kernels of this package are used.
    ///
    /// - Parameters:
    ///   - threads: the most that callers compute on.
    ///   - wanted: decides before `LOOKALIKE_BLAS` does, and that before what is faster: the kernels, on every target
    ///     that has its own, and for few queries, for which a library packs more than it multiplies.
    static func forBatch(of count: Int, kernels: SIMDTarget, threads: Int, wanted: Bool?) -> Use? {
        let isFaster = kernels.name == "portable" && count >= 32
        guard wanted ?? setting ?? isFaster, let library = installed else { return nil }
        let own = library.threads.map { Int($0()) } ?? 1
        return own <= 1 ? .onEachThread(library) : own <= threads ? .inOnePiece(library) : nil
    }

    /// What `LOOKALIKE_BLAS` says; nil without it.
    private static let setting = ["on": true, "off": false][value?.lowercased() ?? ""]

    private static var value: String? {
        getenv("LOOKALIKE_BLAS").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// What is wrong with `LOOKALIKE_BLAS`; nil if it is not set, is empty, or can take effect.
    package static var environmentProblem: String? {
        guard let value else { return nil }
        guard let setting else { return "LOOKALIKE_BLAS is “\(value)”, and can be “on” or “off”" }
        return setting && installed == nil
            ? "LOOKALIKE_BLAS is “\(value)”, and there is no OpenBLAS (with threads) or BLIS that multiplies" : nil
    }

    /// - Returns: nil if there is no such library, or its products are wrong.
    private init?(_ name: String) {
        guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL), let product = dlsym(library, "cblas_sgemm") else {
            return nil
        }
        // OpenBLAS's build without threads gives wrong sums to two callers at once (0.3.21).
        if let isParallel = dlsym(library, "openblas_get_parallel") {
            guard unsafeBitCast(isParallel, to: (@convention(c) () -> CInt).self)() != 0 else { return nil }
        }
        self.name = name
        self.product = unsafeBitCast(product, to: Product.self)
        threads = dlsym(library, "openblas_get_num_threads").map {
            unsafeBitCast($0, to: (@convention(c) () -> CInt).self)
        }
        guard multipliesRightly else { return nil }
    }

    /// Releases of OpenBLAS have computed wrong products on processors that came after them.
    private var multipliesRightly: Bool {
        var random = SplitMix64(state: 1)
        return [(5, 7, 3), (67, 130, 257)].allSatisfy { leftCount, rightCount, dimension in
            let left = (0..<leftCount * dimension).map { _ in Float(random.normal()) }
            let right = (0..<rightCount * dimension).map { _ in Float(random.normal()) }
            var products = [Float](repeating: .nan, count: leftCount * rightCount)
            products.withUnsafeMutableBufferPointer { products in
                guard let address = products.baseAddress else { return }
                multiply(left, leftCount, right, rightCount, dimension: dimension, into: address, stride: rightCount)
            }
            return products.indices.allSatisfy { index in
                let (first, second) = (index / rightCount * dimension, index % rightCount * dimension)
                let (sum, size) = (0..<dimension).reduce((0.0, 0.0)) { sums, component in
                    let term = Double(left[first + component]) * Double(right[second + component])
                    return (sums.0 + term, sums.1 + abs(term))
                }
                return abs(Double(products[index]) + 2 * sum) <= 2 * Double(dimension + 1) * 0x1p-24 * size
            }
        }
    }

    /// Writes −2 a·b for all rows a of the left and b of the right matrix, of `dimension` floats each: a line for each
    /// row of the left one, `stride` floats from the next.
    func multiply(
        _ left: UnsafePointer<Float>, _ leftCount: Int, _ right: UnsafePointer<Float>, _ rightCount: Int,
        dimension: Int, into products: UnsafeMutablePointer<Float>, stride: Int
    ) {
        let (rowMajor, plain, transposed): (CInt, CInt, CInt) = (101, 111, 112)
        product(
            rowMajor, plain, transposed, CInt(leftCount), CInt(rightCount), CInt(dimension), -2, left, CInt(dimension),
            right, CInt(dimension), 0, products, CInt(stride))
    }
}
