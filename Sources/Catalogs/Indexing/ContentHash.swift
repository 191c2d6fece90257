import Compute
import FeaturePrints
import Foundation
import Imaging

/// SHA-256 of what an item has in memory: whether it is what was indexed before.
enum ContentHash {
    /// O(pixels). Bytes between the rows do not count.
    static func of(_ image: PixelBuffer) -> Data {
        var hash = SHA256()
        hash.update(Data("\(image.width) \(image.height) \(image.format.rawValue) \(image.alpha.rawValue)\n".utf8))
        // Nothing for sRGB, which hashes of earlier versions do not name.
        if image.colorSpace != .sRGB { hash.update(Data("\(image.colorSpace.rawValue)\n".utf8)) }
        let rowBytes = image.width * image.format.bytesPerPixel
        image.withUnsafeBytes { bytes in
            for row in 0..<image.height {
                let start = row * image.bytesPerRow
                hash.update(UnsafeRawBufferPointer(rebasing: bytes[start..<(start + rowBytes)]))
            }
        }
        return hash.finalize()
    }

    static func of(_ print: FeaturePrint) -> Data {
        var hash = SHA256()
        hash.update(Data("print\n".utf8))
        hash.update(PrintBlob.data(print.vector))
        return hash.finalize()
    }
}
