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
        let bytes = luma.map { UInt8(max(min((1 - $0) * 255, 255), 0).rounded()) }
        do {
            return try PixelBuffer(wrapping: bytes, width: width, height: height, format: .gray8)
        } catch {
            fatalError("\(width)×\(height) bytes are no image: \(error)")
        }
    }
}
