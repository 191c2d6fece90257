package import Foundation
package import Imaging

/// A small JPEG file of an image, for lists of results.
package enum Thumbnail {
    /// At this size it looks the same as 90, with two thirds of the bytes.
    private static let quality = 82

    /// The image scaled down to `longSide`, never up. Transparent pixels become white, or what the image contrasts
    /// with.
    package static func jpeg(of image: PixelBuffer, longSide: Int, named name: String) throws(ImageError) -> Data {
        let image = image.overContrastingGround()
        let scale = min(1, Double(longSide) / Double(max(image.width, image.height)))
        let size = (
            max(1, Int((Double(image.width) * scale).rounded())), max(1, Int((Double(image.height) * scale).rounded()))
        )
        return try Resizer(width: size.0, height: size.1).resizedPixels(of: image).jpegData(
            quality: quality, named: name)
    }
}
