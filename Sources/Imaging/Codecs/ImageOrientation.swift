import Foundation

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

    /// Whether the upright image differs from the stored one.
    var movesPixels: Bool { swapsAxes || flipsX || flipsY }

    /// - Throws: `outOfMemory`.
    func upright(_ image: PixelBuffer) throws(ImageError.Reason) -> PixelBuffer {
        guard movesPixels else { return image }
        let bytes = image.format.bytesPerPixel
        let width = swapsAxes ? image.height : image.width
        let height = swapsAxes ? image.width : image.height
        let count = width * height * bytes
        // malloc, since Swift's own allocation ends the process when there is no memory.
        guard let memory = malloc(count) else { throw .outOfMemory(bytes: count) }
        let turned = UnsafeMutableRawBufferPointer(start: memory, count: count)
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
        let address = UInt(bitPattern: memory)
        let storage = PixelStorage(bytes: UnsafeRawBufferPointer(turned)) {
            free(UnsafeMutableRawPointer(bitPattern: address))
        }
        do {
            return try PixelBuffer(
                storage: storage, width: width, height: height, bytesPerRow: nil, format: image.format,
                alpha: image.alpha, colorSpace: image.colorSpace)
        } catch {
            preconditionFailure("an image of \(width)×\(height) has the bytes of its transpose")
        }
    }
}
