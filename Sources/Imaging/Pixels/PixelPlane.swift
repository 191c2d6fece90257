import Foundation

/// The samples of one component or two of an image: rows from the top, `bytesPerRow` bytes apart.
public struct PixelPlane: Sendable {
    let storage: PixelStorage
    /// Nil for rows without padding.
    let bytesPerRow: Int?

    /// Keeps the rows in `data`, without a copy.
    ///
    /// - Parameter bytesPerRow: the distance from a row to the next; that of rows without padding by default.
    public init(_ data: Data, bytesPerRow: Int? = nil) {
        storage = PixelStorage(data)
        self.bytesPerRow = bytesPerRow
    }

    /// Keeps the rows in `bytes`, without a copy.
    public init(_ bytes: [UInt8], bytesPerRow: Int? = nil) {
        storage = PixelStorage(bytes)
        self.bytesPerRow = bytesPerRow
    }

    /// Wraps memory of the caller without a copy.
    ///
    /// - Parameters:
    ///   - bytes: the rows; must stay valid and unchanged until `release` is called.
    ///   - release: called once, when the last copy of the plane is gone.
    public init(
        wrapping bytes: UnsafeRawBufferPointer, bytesPerRow: Int? = nil, release: @escaping @Sendable () -> Void = {}
    ) {
        storage = PixelStorage(bytes: bytes, release: release)
        self.bytesPerRow = bytesPerRow
    }

    /// Calls `body` with the memory and the distance between rows, once they are known to hold the samples.
    func withRows(
        of rowBytes: Int, count: Int, named name: String, _ body: (UnsafePointer<UInt8>, _ stride: Int) -> Void
    ) throws(PixelBufferError) {
        let stride = bytesPerRow ?? rowBytes
        guard stride >= rowBytes else { throw .planeTooSmall(name, needed: rowBytes, given: stride) }
        let (before, overflow) = stride.multipliedReportingOverflow(by: count - 1)
        let (needed, lastOverflow) = before.addingReportingOverflow(rowBytes)
        guard !overflow, !lastOverflow, needed <= storage.count else {
            throw .planeTooSmall(name, needed: overflow || lastOverflow ? nil : needed, given: storage.count)
        }
        storage.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            body(base.assumingMemoryBound(to: UInt8.self), stride)
        }
    }
}
