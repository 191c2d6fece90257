extension PixelBuffer {
    /// Converts a camera frame of luma and interleaved chroma at half the size: NV12, or `420YpCbCr8BiPlanar`.
    ///
    /// ```swift
    /// let frame = try PixelBuffer(
    ///     nv12: PixelPlane(luma, bytesPerRow: 2048), chroma: PixelPlane(chroma, bytesPerRow: 2048), width: 1920,
    ///     height: 1080)
    /// ```
    ///
    /// Chroma is not interpolated: four pixels share a sample. For odd sizes the last column and row of chroma cover
    /// one pixel.
    /// - Parameters:
    ///   - luma: a byte per pixel.
    ///   - chroma: Cb and Cr of each square of four pixels.
    ///   - encoding: what the bytes mean.
    /// - Throws: ``PixelBufferError`` if there are no pixels, or a plane is too small for them.
    /// - Complexity: O(pixels); the result is a copy with 4 bytes per pixel.
    public init(
        nv12 luma: PixelPlane, chroma: PixelPlane, width: Int, height: Int, encoding: YCbCrEncoding = .bt709Video
    ) throws(PixelBufferError) {
        let pixels = try FramePixels(width: width, height: height)
        let conversion = YCbCrConversion(encoding)
        var failure: PixelBufferError?
        try luma.withRows(of: width, count: height, named: "luma") { y, yStride in
            do throws(PixelBufferError) {
                try chroma.withRows(of: pixels.chromaWidth * 2, count: pixels.chromaHeight, named: "chroma") {
                    c, cStride in
                    pixels.forEachRow { row, out in
                        let (y, c) = (y + row * yStride, c + row / 2 * cStride)
                        for x in 0..<width {
                            let pair = x & ~1
                            conversion.write(y: y[x], cb: c[pair], cr: c[pair + 1], to: out + 4 * x)
                        }
                    }
                }
            } catch { failure = error }
        }
        if let failure { throw failure }
        self = try pixels.buffer()
    }

    /// Converts a camera or video frame of three planes, chroma at half the size: I420, or `420YpCbCr8Planar`.
    ///
    /// For YV12 pass the planes in the order of their names. Otherwise as
    /// ``init(nv12:chroma:width:height:encoding:)``.
    /// - Throws: ``PixelBufferError`` if there are no pixels, or a plane is too small for them.
    /// - Complexity: O(pixels); the result is a copy with 4 bytes per pixel.
    public init(
        i420 luma: PixelPlane, cb: PixelPlane, cr: PixelPlane, width: Int, height: Int,
        encoding: YCbCrEncoding = .bt709Video
    ) throws(PixelBufferError) {
        let pixels = try FramePixels(width: width, height: height)
        let conversion = YCbCrConversion(encoding)
        let (chromaWidth, chromaHeight) = (pixels.chromaWidth, pixels.chromaHeight)
        var failure: PixelBufferError?
        try luma.withRows(of: width, count: height, named: "luma") { y, yStride in
            do throws(PixelBufferError) {
                var inner: PixelBufferError?
                try cb.withRows(of: chromaWidth, count: chromaHeight, named: "Cb") { u, uStride in
                    do throws(PixelBufferError) {
                        try cr.withRows(of: chromaWidth, count: chromaHeight, named: "Cr") { v, vStride in
                            pixels.forEachRow { row, out in
                                let y = y + row * yStride
                                let (u, v) = (u + row / 2 * uStride, v + row / 2 * vStride)
                                for x in 0..<width {
                                    conversion.write(y: y[x], cb: u[x / 2], cr: v[x / 2], to: out + 4 * x)
                                }
                            }
                        }
                    } catch { inner = error }
                }
                if let inner { throw inner }
            } catch { failure = error }
        }
        if let failure { throw failure }
        self = try pixels.buffer()
    }
}

/// Memory for a converted frame. It is taken once the planes are known to hold as many pixels.
private final class FramePixels {
    let width: Int
    let height: Int
    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    var chromaWidth: Int { width / 2 + width % 2 }
    var chromaHeight: Int { height / 2 + height % 2 }

    /// - Throws: ``PixelBufferError`` for a size without pixels, or with more bytes than an integer counts.
    init(width: Int, height: Int) throws(PixelBufferError) {
        guard width > 0, height > 0 else { throw .emptyShape(width: width, height: height) }
        let (pixels, overflow) = width.multipliedReportingOverflow(by: height)
        guard !overflow, pixels <= Int.max / 8 else { throw .tooFewBytes(needed: nil, given: 0) }
        self.width = width
        self.height = height
    }

    deinit { memory.deallocate() }

    func forEachRow(_ body: (Int, UnsafeMutablePointer<UInt8>) -> Void) {
        memory = .allocate(byteCount: width * height * 4, alignment: 64)
        guard let base = memory.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
        for row in 0..<height { body(row, base + row * width * 4) }
    }

    /// Gives the memory away.
    func buffer() throws(PixelBufferError) -> PixelBuffer {
        let given = memory
        memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        let address = UInt(bitPattern: given.baseAddress)
        return try PixelBuffer(
            wrapping: UnsafeRawBufferPointer(given), width: width, height: height, format: .rgba8, alpha: .ignored,
            release: { UnsafeMutableRawPointer(bitPattern: address)?.deallocate() })
    }
}
