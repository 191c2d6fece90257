package import CLookalike
import FeaturePrints
import Foundation
import Imaging

/// The object behind a `lookalike_image`.
final class ImageObject: Sendable {
    let pixels: PixelBuffer
    init(_ pixels: PixelBuffer) { self.pixels = pixels }
}

/// The sides and the pixels of the largest images, as those of files.
private let (largestSide, mostPixels) = (65_535, 1 << 28)

private func checkSize(_ width: Int64, _ height: Int64) throws(InterfaceError) -> (width: Int, height: Int) {
    let sides = 1...Int64(largestSide)
    try check(
        sides.contains(width) && sides.contains(height) && width * height <= mostPixels,
        "an image of \(width)×\(height) pixels: its sides are 1 to \(largestSide), with at most 2^28 pixels")
    return (Int(width), Int(height))
}

@_cdecl("lookalike_image_wrap")
package func imageWrap(_ pixels: UnsafePointer<lookalike_pixels>?) -> OpaquePointer? {
    reported {
        guard let pixels = pixels?.pointee, let data = pixels.data else { throw InterfaceError("the pixels are NULL") }
        let formats: [PixelFormat] = [.gray8, .rgb8, .rgba8, .bgra8]
        let alphas: [AlphaMode] = [.straight, .premultiplied, .ignored]
        try check(formats.indices.contains(Int(pixels.format)), "\(pixels.format) is no lookalike_pixel_format")
        try check(alphas.indices.contains(Int(pixels.alpha)), "\(pixels.alpha) is no lookalike_alpha")
        let (width, height) = try checkSize(pixels.width, pixels.height)
        let format = formats[Int(pixels.format)]
        let rowBytes = width * format.bytesPerPixel
        let bytesPerRow = pixels.bytes_per_row == 0 ? rowBytes : Int(pixels.bytes_per_row)
        let (before, overflow) = bytesPerRow.multipliedReportingOverflow(by: height - 1)
        try check(
            bytesPerRow >= rowBytes && !overflow && before <= Int.max - rowBytes,
            "\(bytesPerRow) bytes per row do not hold \(width) pixels of \(format.bytesPerPixel) bytes")
        return handle(
            of: ImageObject(
                try PixelBuffer(
                    wrapping: UnsafeRawBufferPointer(start: data, count: before + rowBytes), width: width,
                    height: height, bytesPerRow: bytesPerRow, format: format, alpha: alphas[Int(pixels.alpha)])))
    }
}

@_cdecl("lookalike_image_read")
package func imageRead(_ path: UnsafePointer<CChar>?, _ model: OpaquePointer?) -> OpaquePointer? {
    reported {
        let url = URL(fileURLWithPath: try text(path, named: "path"))
        return handle(of: ImageObject(try PixelBuffer(contentsOf: url, options: decodingOptions(for: model))))
    }
}

@_cdecl("lookalike_image_decode")
package func imageDecode(_ bytes: UnsafeRawPointer?, _ size: Int, _ model: OpaquePointer?) -> OpaquePointer? {
    reported {
        guard let bytes else { throw InterfaceError("the bytes are NULL") }
        let options = try decodingOptions(for: model)
        try check(
            (0...options.maximumByteCount).contains(size),
            "a file of \(size) bytes: it has at most \(options.maximumByteCount)")
        let data = Data(
            bytesNoCopy: UnsafeMutableRawPointer(mutating: bytes), count: size, deallocator: .none)
        return handle(of: ImageObject(try PixelBuffer(decoding: data, options: options)))
    }
}

private func decodingOptions(for model: OpaquePointer?) throws(InterfaceError) -> DecodingOptions {
    try model.map { handle throws(InterfaceError) in
        try object(handle, ModelObject.self, named: "model").model.decodingOptions
    } ?? DecodingOptions()
}

@_cdecl("lookalike_image_size")
package func imageSize(
    _ handle: OpaquePointer?, _ width: UnsafeMutablePointer<Int64>?, _ height: UnsafeMutablePointer<Int64>?
) -> Bool {
    succeeded {
        let pixels = try object(handle, ImageObject.self, named: "image").pixels
        width?.pointee = Int64(pixels.width)
        height?.pointee = Int64(pixels.height)
    }
}

@_cdecl("lookalike_image_resize")
package func imageResize(
    _ handle: OpaquePointer?, _ width: Int64, _ height: Int64, _ rgb: UnsafeMutablePointer<UInt8>?
) -> Bool {
    succeeded {
        let image = try object(handle, ImageObject.self, named: "image").pixels
        let size = try checkSize(width, height)
        guard let rgb else { throw InterfaceError("the memory for the pixels is NULL") }
        Resizer(width: size.width, height: size.height).resizedPixels(of: image).withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(start: rgb, count: size.width * size.height * 3).copyMemory(from: bytes)
        }
    }
}

@_cdecl("lookalike_image_free")
package func imageFree(_ handle: OpaquePointer?) { release(handle, ImageObject.self) }
