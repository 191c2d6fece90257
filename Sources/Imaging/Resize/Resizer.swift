import Compute

/// Resizes images of any size, format and stride to one size, antialiased, in one pass over the source.
///
/// Per row of cells: sum the pixel rows, sum the columns, and add the cells to the output rows that they contribute to.
/// A complete row is filtered along its length. Only incomplete output rows are buffered.
/// O(source pixels + output pixels) time, O(source width + output width) memory.
public struct Resizer: Sendable {
    /// The width of the result in pixels.
    public let width: Int
    /// The height of the result in pixels.
    public let height: Int
    /// Whether pixels are summed in cells before they are filtered.
    public let reduction: BoxReduction
    private let kernels: SIMDTarget

    /// - Precondition: `width` and `height` are positive.
    public init(width: Int, height: Int, reduction: BoxReduction = .automatic) {
        self.init(width: width, height: height, reduction: reduction, simd: .selected)
    }

    package init(width: Int, height: Int, reduction: BoxReduction = .automatic, simd: SIMDTarget) {
        precondition(width > 0 && height > 0, "an image of \(width)×\(height) has no pixels")
        self.width = width
        self.height = height
        self.reduction = reduction
        self.kernels = simd
    }

    /// The resized image as red, green, blue floats in 0...1 in sRGB, rows from the top.
    public func resize(_ image: PixelBuffer) -> [Float] {
        var result = [Float](repeating: 0, count: width * height * 3)
        result.withUnsafeMutableBufferPointer { resize(image, into: $0, layout: .interleaved(width: width)) }
        return result
    }

    /// The resized image as 8-bit sRGB, rounded to nearest.
    public func resizedPixels(of image: PixelBuffer) -> PixelBuffer {
        let floats = resize(image)
        let bytes = [UInt8](unsafeUninitializedCapacity: floats.count) { bytes, count in
            if let base = bytes.baseAddress { kernels.table.quantize(floats, 255, 0, floats.count, base) }
            count = floats.count
        }
        guard let result = try? PixelBuffer(bytes, width: width, height: height, format: .rgb8) else {
            preconditionFailure("\(bytes.count) bytes are an RGB image of \(width)×\(height)")
        }
        return result
    }

    /// Writes the resized image into `output`.
    ///
    /// - Precondition: `layout` stays inside `output`.
    public func resize(_ image: PixelBuffer, into output: UnsafeMutableBufferPointer<Float>, layout: FloatImageLayout) {
        let last = layout.offset + (height - 1) * layout.rowStride + (width - 1) * layout.pixelStride + 2
        precondition(layout.offset >= 0 && last < output.count, "the layout reaches outside the output")
        let (horizontal, vertical) = TriangleFilter.pair(
            for: image, width: width, height: height, reduction: reduction)
        let pass = ResizePass(kernels: kernels.table, image: image, horizontal: horizontal, vertical: vertical)
        guard let conversion = image.colorSpace.conversion else { return pass.run(into: output, layout: layout) }
        // Colors are converted after the filters, when few pixels are left, and before the layout scales them.
        var plain = layout
        (plain.multiply, plain.add) = ((1, 1, 1), (0, 0, 0))
        pass.run(into: output, layout: plain)
        guard let out = output.baseAddress else { return }
        for y in 0..<height {
            let row = out + layout.offset + y * layout.rowStride
            conversion.convert(row, count: width, stride: layout.pixelStride)
            for x in 0..<width {
                let pixel = row + x * layout.pixelStride
                pixel[0] = pixel[0] * layout.multiply.red + layout.add.red
                pixel[1] = pixel[1] * layout.multiply.green + layout.add.green
                pixel[2] = pixel[2] * layout.multiply.blue + layout.add.blue
            }
        }
    }
}
