import CKernels
import Foundation

/// Numbers as a file stores them, in row-major order, converted to float32 as they are read.
///
/// A network's weights are packed straight from its file: as floats they would be twice as many bytes, each of which is
/// written and read once.
struct StoredNumbers: Sendable {
    private let bytes: Data
    private let format: NumberFormat

    /// - Precondition: `bytes` has whole numbers. They need not be aligned.
    init(_ bytes: Data, format: NumberFormat) {
        precondition(bytes.count % format.byteCount == 0, "\(bytes.count) bytes in numbers of \(format.byteCount)")
        (self.bytes, self.format) = (bytes, format)
    }

    /// Copies floats.
    init(_ floats: [Float]) { self.init(floats.withUnsafeBytes { Data($0) }, format: .float32) }

    var count: Int { bytes.count / format.byteCount }

    /// Some of the numbers, without a copy.
    subscript(_ range: Range<Int>) -> StoredNumbers {
        let (start, size) = (bytes.startIndex, format.byteCount)
        return StoredNumbers(
            bytes[(start + range.lowerBound * size)..<(start + range.upperBound * size)], format: format)
    }

    var areFinite: Bool { withKernelArguments { lk_are_finite($0, $1, count) } }

    var floats: [Float] {
        [Float](unsafeUninitializedCapacity: count) { floats, initialized in
            guard let floats = floats.baseAddress else { return }
            withKernelArguments { lk_widen($0, $1, count, floats) }
            initialized = count
        }
    }

    /// Calls `body` with the address and the format that kernels take.
    func withKernelArguments<Result>(_ body: (UnsafeRawPointer?, lk_number_format) -> Result) -> Result {
        bytes.withUnsafeBytes { body($0.baseAddress, format.kernelFormat) }
    }
}
