import Foundation

/// A file's bytes, read into memory, so that no page is read while a stage runs.
final class FileBytes: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer

    /// - Parameter largePages: whether to use large pages, as `PrintMatrix` does for rows that it copies.
    init(_ url: URL, largePages: Bool = false) throws {
        let data = try Data(contentsOf: url, options: .alwaysMapped)
        bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, data.count), alignment: 2 << 20)
        #if os(Linux)
        if largePages { madvise(bytes.baseAddress, data.count, Int32(MADV_HUGEPAGE)) }
        #endif
        data.copyBytes(to: bytes)
    }

    deinit { bytes.deallocate() }

    var floats: UnsafeBufferPointer<Float> { UnsafeBufferPointer(bytes.bindMemory(to: Float.self)) }
}
