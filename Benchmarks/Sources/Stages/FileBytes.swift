import Foundation

/// A file's bytes, in memory of their own: no page is read while a stage runs.
final class FileBytes: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer

    init(_ url: URL) throws {
        let data = try Data(contentsOf: url, options: .alwaysMapped)
        bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, data.count), alignment: 4096)
        data.copyBytes(to: bytes)
    }

    deinit { bytes.deallocate() }

    var floats: UnsafeBufferPointer<Float> { UnsafeBufferPointer(bytes.bindMemory(to: Float.self)) }
}
