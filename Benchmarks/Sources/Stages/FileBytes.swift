import Foundation

/// A file's bytes, in memory of their own: no page is read while a stage runs.
final class FileBytes: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer

    /// - Parameter largePages: as the engine has it for rows of its own.
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
