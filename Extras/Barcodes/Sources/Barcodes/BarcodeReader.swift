#if Barcodes
import CBarcodes
public import Imaging

/// A barcode in an image: a machine-readable name of the thing that it is printed on.
public struct Barcode: Sendable, Hashable {
    /// What it says: the digits of an EAN, the text of a QR code.
    public let text: String
    /// The kind of code, such as `EAN-13`, `UPC-A` or `QRCode`.
    public let symbology: String
    /// Where the image shows it, clockwise from its own top left. A linear code may be a line without height.
    public let outline: Quadrilateral
}

/// Reads linear and QR codes of images with [zxing-cpp](https://github.com/zxing-cpp/zxing-cpp).
///
/// What it reads finds entities by an attribute, in the ranking of what the image shows:
///
/// ```swift
/// var options = SearchOptions()
/// options.codes = BarcodeReader().barcodes(in: photo).map(\.text)
/// let matches = try await catalog.search(matching: photo, options: options)
/// ```
public struct BarcodeReader: Sendable {
    /// The most codes that are read of an image.
    public let limit: Int

    /// - Precondition: the limit is in 1...255.
    public init(limit: Int = 16) {
        precondition((1...255).contains(limit), "a reader reads 1 to 255 codes, not \(limit)")
        self.limit = limit
    }

    /// The codes in an image with different texts, in no particular order: dark ones and white ones on dark ground, at
    /// any angle. Narrow lines need about two pixels each. In images of more than four megapixels, tilted linear codes
    /// are looked for at half the size.
    ///
    /// - Complexity: O(pixels).
    public func barcodes(in image: PixelBuffer) -> [Barcode] {
        let pixels: lk_barcode_pixels =
            switch image.format {
            case .bgra8: LK_BARCODE_BGRX
            case .rgba8: LK_BARCODE_RGBX
            case .rgb8: LK_BARCODE_RGB
            case .gray8: LK_BARCODE_GRAY
            }
        guard let width = Int32(exactly: image.width), let height = Int32(exactly: image.height),
            let bytesPerRow = Int32(exactly: image.bytesPerRow)
        else { return [] }
        return withUnsafeTemporaryAllocation(of: lk_barcode.self, capacity: limit) { codes in
            let count = image.withUnsafeBytes { bytes in
                lk_read_barcodes(
                    bytes.bindMemory(to: UInt8.self).baseAddress, width, height, bytesPerRow, pixels,
                    codes.baseAddress, Int32(limit))
            }
            return codes.prefix(Int(max(0, count))).map { Barcode($0, width: image.width, height: image.height) }
        }
    }
}

extension Barcode {
    fileprivate init(_ code: lk_barcode, width: Int, height: Int) {
        text = withUnsafeBytes(of: code.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        symbology = String(cString: code.symbology)
        let c = code.corners
        func point(_ x: Int32, _ y: Int32) -> Quadrilateral.Point {
            Quadrilateral.Point(x: Double(x) / Double(width), y: Double(y) / Double(height))
        }
        outline = Quadrilateral(
            topLeft: point(c.0, c.1), topRight: point(c.2, c.3), bottomRight: point(c.4, c.5),
            bottomLeft: point(c.6, c.7))
    }
}
#endif
