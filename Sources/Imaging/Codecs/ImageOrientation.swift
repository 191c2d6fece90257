/// How to turn a stored image upright: the eight values of EXIF's Orientation tag
/// (EXIF 2.32, section 4.6.4).
struct ImageOrientation {
    /// Whether width and height are exchanged.
    let swapsAxes: Bool
    private let flipsX: Bool
    private let flipsY: Bool

    /// In the upright image, pixel (x, y) is the stored pixel (column, row), where the axes are
    /// first swapped and then flipped.
    init(exif: UInt16) {
        swapsAxes = (5...8).contains(exif)
        flipsX = [2, 3, 7, 8].contains(exif)
        flipsY = [3, 4, 6, 7].contains(exif)
    }

    func upright(_ image: PixelBuffer) -> PixelBuffer {
        guard swapsAxes || flipsX || flipsY else { return image }
        let bytes = image.format.bytesPerPixel
        let width = swapsAxes ? image.height : image.width
        let height = swapsAxes ? image.width : image.height
        var turned = [UInt8](repeating: 0, count: width * height * bytes)
        image.withUnsafeBytes { source in
            for y in 0..<height {
                for x in 0..<width {
                    var (column, row) = swapsAxes ? (y, x) : (x, y)
                    if flipsX { column = image.width - 1 - column }
                    if flipsY { row = image.height - 1 - row }
                    let from = row * image.bytesPerRow + column * bytes
                    let to = (y * width + x) * bytes
                    for byte in 0..<bytes { turned[to + byte] = source[from + byte] }
                }
            }
        }
        guard
            let result = try? PixelBuffer(
                turned, width: width, height: height, format: image.format, alpha: image.alpha)
        else {
            preconditionFailure("an image of \(width)×\(height) has the bytes of its transpose")
        }
        return result
    }
}
