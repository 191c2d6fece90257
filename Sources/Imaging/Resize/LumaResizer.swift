import CKernels
package import Compute

/// Resizes images to a gray image, antialiased like ``Resizer``: the luma of its result, for a quarter of its work.
///
/// O(source pixels + output pixels) time.
package struct LumaResizer: Sendable {
    /// The weights of Rec. 601: what JPEG calls Y.
    private static let weights: (red: Float, green: Float, blue: Float) = (0.299, 0.587, 0.114)

    package let width: Int
    package let height: Int
    private let kernels: SIMDTarget

    /// - Precondition: `width` and `height` are positive.
    package init(width: Int, height: Int, simd: SIMDTarget = .selected) {
        require(width > 0 && height > 0, "an image of \(width)×\(height) has no pixels")
        self.width = width
        self.height = height
        kernels = simd
    }

    /// Writes luma in 0...1 to rows that are `stride` floats apart.
    ///
    /// - Precondition: the rows stay inside `output`.
    package func resize(_ image: PixelBuffer, into output: UnsafeMutableBufferPointer<Float>, stride rowStride: Int) {
        require(
            rowStride >= width && (height - 1) * rowStride + width <= output.count, "the rows reach outside the output")
        guard let out = output.baseAddress else { return }
        let (horizontal, vertical) = AxisFilter.pair(
            for: image, width: width, height: height, reduction: .automatic)
        let table = kernels.table
        let channels = image.format.bytesPerPixel
        let weights = Self.channelWeights(of: image)
        // The share that a premultiplied pixel leaves to the white behind it. The filters' weights add up to one.
        let white: Float = image.alpha == .premultiplied ? 1 : 0
        let cellCount = horizontal.cellCount(of: image.width)
        let isSummed = horizontal.factor > 1 || vertical.factor > 1
        let sums = UnsafeMutablePointer<UInt16>.allocate(capacity: image.width * channels)
        let colors = UnsafeMutablePointer<Float>.allocate(capacity: cellCount * 4)
        defer {
            sums.deallocate()
            colors.deallocate()
        }
        VerticalPass(kernels: table, image: image, filter: vertical, rowLength: cellCount).run {
            source, stride, rows, line in
            guard isSummed else {
                return table.luma_row(source, Int32(channels), weights, Int32(image.width), line)
            }
            table.sumRowOfCells(
                source, stride: stride, rows: rows, width: image.width, channels: channels, factor: horizontal.factor,
                line: sums, cells: colors)
            for cell in 0..<cellCount {
                let at = 4 * cell
                line[cell] =
                    colors[at] * weights[0] + colors[at + 1] * weights[1] + colors[at + 2] * weights[2]
                    + colors[at + 3] * weights[3]
            }
        } finish: { row, y in
            let target = out + y * rowStride
            horizontal.spans.withUnsafeBufferPointer { spans in
                horizontal.weights.withUnsafeBufferPointer { filter in
                    table.filter_row(row, spans.baseAddress, filter.baseAddress, Int32(width), target)
                }
            }
            if white != 0 { for x in 0..<width { target[x] += white } }
        }
    }

    /// The weight of each byte of a pixel, four of them.
    private static func channelWeights(of image: PixelBuffer) -> [Float] {
        guard image.format != .gray8 else { return [1 / 255, 0, 0, 0] }
        let offsets = image.format.redGreenBlueOffsets
        var result: [Float] = [0, 0, 0, image.alpha == .premultiplied ? -1 / 255 : 0]
        result[offsets.red] = weights.red / 255
        result[offsets.green] = weights.green / 255
        result[offsets.blue] = weights.blue / 255
        return result
    }
}

extension PixelBuffer {
    /// The negative of the image's luma, in `gray8`: what was dark is light.
    ///
    /// O(pixels).
    ///
    /// - Parameter longSide: a larger image is reduced to this size.
    package func negative(longSide: Int) -> PixelBuffer {
        let scale = min(Double(longSide) / Double(max(width, height)), 1)
        let (width, height) = (
            max(Int((Double(width) * scale).rounded()), 1), max(Int((Double(height) * scale).rounded()), 1)
        )
        let luma = [Float](unsafeUninitializedCapacity: width * height) { luma, count in
            LumaResizer(width: width, height: height).resize(self, into: luma, stride: width)
            count = width * height
        }
        // The lowest byte of 2²³ and more is the nearest integer, in vectors: rounding and checked conversions are not.
        let bytes = luma.map { UInt8(truncatingIfNeeded: (max(min((1 - $0) * 255, 255), 0) + 0x1p23).bitPattern) }
        do {
            return try PixelBuffer(wrapping: bytes, width: width, height: height, format: .gray8)
        } catch {
            fatalError("\(width)×\(height) bytes are no image: \(error)")
        }
    }
}
