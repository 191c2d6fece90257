#if WebP
    import CImageCodecs

    /// The canvas of an animation, and where its first frame lies on it.
    struct FrameCanvas: Equatable {
        var x = 0
        var y = 0
        var width: Int
        var height: Int

        init(x: Int, y: Int, width: Int, height: Int) {
            (self.x, self.y, self.width, self.height) = (x, y, width, height)
        }

        /// A frame that covers its canvas.
        init(_ header: lk_image_header) { self.init(x: 0, y: 0, width: Int(header.width), height: Int(header.height)) }
    }

    /// The chunks of a WebP file (RFC 9649, section 2).
    struct WebPFile {
        /// What libwebp decodes: the file, or the data of an animation's first frame.
        let stream: Range<Int>
        /// Nil for a still image.
        let canvas: FrameCanvas?
        let colors: EmbeddedColors
        /// EXIF's, 1...8.
        let orientation: UInt16

        /// - Throws: `damaged` for a file that ends early, or an animation without a frame.
        init(_ bytes: UnsafeRawBufferPointer) throws(ImageError.Reason) {
            func number(_ at: Int, _ count: Int = 4) -> Int {
                (0..<count).reduce(0) { $0 | Int(bytes[at + $1]) << (8 * $1) }
            }
            guard bytes.count >= 20, number(4) + 8 <= bytes.count else { throw .damaged("the file ends early") }
            let end = number(4) + 8
            var size: (width: Int, height: Int)?
            var isAnimated = false
            var stream: Range<Int>?
            var canvas: FrameCanvas?
            var colors = EmbeddedColors.unspecified
            var orientation: UInt16 = 1
            var at = 12
            while at + 8 <= end {
                let (body, length) = (at + 8, number(at + 4))
                guard length <= end - body else { break }
                switch String(decoding: bytes[at..<(at + 4)], as: UTF8.self) {
                case "VP8X" where length >= 10:
                    isAnimated = bytes[body] & 0x02 != 0
                    size = (number(body + 4, 3) + 1, number(body + 7, 3) + 1)
                case "ICCP":
                    colors =
                        length <= EmbeddedColors.maximumProfileSize
                        ? .profile(Array(bytes[body..<(body + length)]))
                        : .broken("its color profile is ignored: it is larger than 16 MiB")
                case "EXIF":
                    // Some writers keep the prefix that JPEG files have.
                    let prefix = bytes[body..<(body + length)].starts(with: Array("Exif\0\0".utf8)) ? 6 : 0
                    orientation = lk_exif_orientation(
                        bytes.baseAddress?.assumingMemoryBound(to: UInt8.self).advanced(by: body + prefix),
                        length - prefix)
                case "ANMF" where length >= 16 && stream == nil:
                    stream = (body + 16)..<(body + length)
                    if let size {
                        canvas = FrameCanvas(
                            x: 2 * number(body, 3), y: 2 * number(body + 3, 3), width: size.width,
                            height: size.height)
                    }
                default: break
                }
                at = body + length + length % 2
            }
            if isAnimated, stream == nil { throw .damaged("it has no frame") }
            self.stream = isAnimated ? stream ?? 0..<end : 0..<end
            self.canvas = isAnimated ? canvas : nil
            self.colors = colors
            self.orientation = orientation
        }
    }
#endif
