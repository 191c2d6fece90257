import CImageCodecs

extension ImageDecoder {
    /// - Parameter name: the format with its article, for the error message of a build without libheif.
    static func heif(
        _ bytes: UnsafeRawBufferPointer, named name: String, options: DecodingOptions
    ) throws(ImageError.Reason) -> PixelBuffer {
        #if HEIF
            let tiles = HEIFTiles(bytes)
            guard !tiles.areAmbiguous else { throw .damaged("it has several meta boxes") }
            guard !tiles.haveAlpha else { throw .damaged("its tiles have alpha channels") }
            guard tiles.count(upTo: options.maximumTileCount) <= options.maximumTileCount else {
                throw .tooManyTiles(limit: options.maximumTileCount)
            }
            let canvas = tiles.largestCanvas
            let long = options.neededLongSide ?? 0
            let needed = (
                width: max(options.neededSize?.width ?? 0, long), height: max(options.neededSize?.height ?? 0, long)
            )
            do throws(ImageError.Reason) {
                return try heif(
                    bytes, canvas: canvas, neededWidth: needed.width, neededHeight: needed.height, options: options)
            } catch {
                // The thumbnail may be damaged or have another size than it says, as those of some cameras.
                guard needed.width > 0, case .damaged = error else { throw error }
                return try heif(bytes, canvas: canvas, neededWidth: 0, neededHeight: 0, options: options)
            }
        #else
            throw .decoderMissing(format: name, library: "libheif", trait: "HEIF")
        #endif
    }

    #if HEIF
        /// - Parameter neededWidth: 0 for the whole image; else a thumbnail that is large enough may be read.
        private static func heif(
            _ bytes: UnsafeRawBufferPointer, canvas: (width: Int, height: Int), neededWidth: Int, neededHeight: Int,
            options: DecodingOptions
        ) throws(ImageError.Reason) -> PixelBuffer {
            let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            var header = lk_image_header()
            var full: (width: UInt32, height: UInt32) = (0, 0)
            var reader: OpaquePointer?
            try check {
                reader = lk_heif_open(
                    base, bytes.count, UInt32(clamping: neededWidth), UInt32(clamping: neededHeight), &header,
                    &full.width, &full.height, $0)
                return reader != nil
            }
            defer { lk_heif_close(reader) }
            // A thumbnail needs no canvas of the file's other images.
            if header.width == full.width, header.height == full.height {
                let count = canvas.width * canvas.height
                guard count <= options.maximumPixelCount else {
                    throw .tooManyPixels(width: canvas.width, height: canvas.height, limit: options.maximumPixelCount)
                }
                // Three colors, and a copy that is turned or cropped.
                header.working_bytes = max(header.working_bytes, UInt64(count) * 6)
            }
            return try image(
                of: header, colors: header.colors, size: (Int(full.width), Int(full.height)), options: options
            ) { pixels, _, message in
                lk_heif_decode(reader, pixels, message)
            } decoded: {
                lk_heif_decoded_size(reader, &$0.width, &$0.height)
            }
        }
    #endif
}

extension lk_image_header {
    /// What the reader found out about the colors. A profile counts more than code points.
    var colors: EmbeddedColors {
        if profile_count > EmbeddedColors.maximumProfileSize {
            return .broken("its color profile is ignored: it is larger than 16 MiB")
        }
        if let profile { return .profile(Array(UnsafeBufferPointer(start: profile, count: profile_count))) }
        return has_code_points ? .codePoints(primaries: Int(primaries), transfer: Int(transfer)) : .unspecified
    }
}
