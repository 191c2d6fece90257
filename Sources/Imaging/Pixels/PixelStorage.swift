import Foundation

/// The memory behind a buffer, given back when its last user is gone.
///
/// Unchecked: the bytes are never written after the storage is shared.
final class PixelStorage: @unchecked Sendable {
    private enum Memory {
        case pointer(UnsafeRawBufferPointer, release: @Sendable () -> Void)
        case data(Data)
        case array([UInt8])
    }

    private let memory: Memory
    /// In bytes.
    let count: Int

    init(bytes: UnsafeRawBufferPointer, release: @escaping @Sendable () -> Void) {
        memory = .pointer(bytes, release: release)
        count = bytes.count
    }

    init(_ data: Data) {
        memory = .data(data)
        count = data.count
    }

    init(_ bytes: [UInt8]) {
        memory = .array(bytes)
        count = bytes.count
    }

    deinit { if case .pointer(_, let release) = memory { release() } }

    func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        switch memory {
        case .pointer(let bytes, _):
            return try withExtendedLifetime(self) { () throws(Failure) -> Result in try body(bytes) }
        case .data(let data):
            // Data rethrows any error, so the result carries it.
            let result = data.withUnsafeBytes { bytes in
                Swift.Result { () throws(Failure) -> Result in try body(bytes) }
            }
            return try result.get()
        case .array(let array):
            let result = array.withUnsafeBytes { bytes in
                Swift.Result { () throws(Failure) -> Result in try body(bytes) }
            }
            return try result.get()
        }
    }
}
