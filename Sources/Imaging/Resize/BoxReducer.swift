import CKernels
package import Compute

/// Reduces a large image by an integer factor: each pixel is the mean of a square.
///
/// O(pixels), at about memory bandwidth.
package struct BoxReducer: Sendable {
    /// The side of a square, in pixels.
    package let factor: Int
    private let kernels: SIMDTarget

    /// - Precondition: `factor` lies in 1...16, so that sixteen bits hold a square's sum.
    package init(factor: Int) { self.init(factor: factor, simd: .selected) }

    package init(factor: Int, simd: SIMDTarget) {
        require((1...16).contains(factor), "squares have sides of 1 to 16 pixels, not \(factor)")
        self.factor = factor
        kernels = simd
    }

    /// The reduced image. Incomplete squares at the right and the bottom are dropped.
    ///
    /// Returns the image itself if the factor is 1, if there is no complete square, and for formats without support:
    /// one channel, and straight alpha.
    package func reduce(_ image: PixelBuffer) -> PixelBuffer {
        let (width, height) = (image.width / factor, image.height / factor)
        guard factor > 1, width > 0, height > 0, image.format != .gray8, image.alpha != .straight else { return image }
        let channels = image.format.bytesPerPixel
        let rowBytes = width * factor * channels
        // The fourth byte is padding.
        let format = image.format == .rgb8 ? .rgba8 : image.format
        let alpha = image.format == .rgb8 ? AlphaMode.ignored : image.alpha
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: width * height * 4, alignment: 16)
        let reduced = memory.bindMemory(to: UInt8.self)
        withUnsafeTemporaryAllocation(of: UInt16.self, capacity: rowBytes) { line in
            withUnsafeTemporaryAllocation(of: Float.self, capacity: width * 4) { cells in
                image.withUnsafeBytes { source in
                    guard let first = source.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
                    for row in 0..<height {
                        let rows = first + row * factor * image.bytesPerRow
                        let pixels = reduced.baseAddress.map { $0 + row * width * 4 }
                        if factor == 2 {
                            kernels.table.halve_rows(rows, image.bytesPerRow, Int32(channels), Int32(width), pixels)
                            continue
                        }
                        kernels.table.sumRowOfCells(
                            rows, stride: image.bytesPerRow, rows: factor, width: width * factor, channels: channels,
                            factor: factor, line: line.baseAddress, cells: cells.baseAddress)
                        kernels.table.quantize(
                            cells.baseAddress, 1 / Float(factor * factor), 0, width * 4, pixels)
                    }
                }
            }
        }
        return PixelBuffer(
            owning: memory, width: width, height: height, format: format, alpha: alpha, colorSpace: image.colorSpace,
            release: { $0?.deallocate() })
    }
}
