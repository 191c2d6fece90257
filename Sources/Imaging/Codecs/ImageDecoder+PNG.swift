import CImageCodecs
import Foundation

extension ImageDecoder {
    static func png(_ bytes: UnsafeRawBufferPointer, options: DecodingOptions) throws(ImageError.Reason) -> PixelBuffer
    {
        try image(
            in: bytes, options: options, open: lk_png_open, decode: lk_png_decode, close: lk_png_close,
            note: lk_png_note
        ) {
            let chunks = PNGChunks(bytes)
            $0.orientation = chunks.orientation
            return chunks.colors
        }
    }
}

/// The chunks of a PNG file that say how to show its pixels (PNG specification, third edition, section 11.3). Chunks of
/// colors come before the pixels, EXIF may come after them. libpng skips all of them, since texts and profiles may
/// expand a thousandfold.
private struct PNGChunks {
    private let bytes: UnsafeRawBufferPointer
    /// The data of the first chunk of each kind.
    private var data: [String: Range<Int>] = [:]

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        let kinds: Set<String> = ["cICP", "iCCP", "sRGB", "gAMA", "cHRM", "eXIf"]
        var at = 8
        var isAfterPixels = false
        while at + 8 <= bytes.count {
            let length = number(at)
            let kind = String(decoding: bytes[(at + 4)..<(at + 8)], as: UTF8.self)
            guard length <= bytes.count - at - 8 else { return }
            if kind == "IEND" { return }
            if kind == "IDAT" { isAfterPixels = true }
            if kinds.contains(kind), !isAfterPixels || kind == "eXIf", data[kind] == nil {
                data[kind] = (at + 8)..<(at + 8 + length)
            }
            at += length + 12
        }
    }

    /// The orientation by EXIF, 1...8.
    var orientation: UInt16 {
        guard let range = data["eXIf"] else { return 1 }
        return bytes[range].withUnsafeBytes {
            lk_exif_orientation($0.baseAddress?.assumingMemoryBound(to: UInt8.self), $0.count)
        }
    }

    /// The colors by the chunk that counts most: cICP, iCCP, sRGB, or gAMA with cHRM.
    var colors: EmbeddedColors {
        if let range = data["cICP"], range.count == 4 {
            return .codePoints(primaries: Int(bytes[range.lowerBound]), transfer: Int(bytes[range.lowerBound + 1]))
        }
        if let range = data["iCCP"] { return profile(range) }
        if data["sRGB"] != nil { return .unspecified }
        guard let range = data["gAMA"], range.count == 4 else { return .unspecified }
        let gamma = number(range.lowerBound)
        // The range of libpng (png_colorspace_set_gamma).
        guard (16...625_000_000).contains(gamma) else {
            return .broken("its gamma is ignored: \(gamma) is not in 16...625000000")
        }
        return .gamma(100_000 / Double(gamma), primaries)
    }

    private var primaries: ColorPrimaries? {
        guard let range = data["cHRM"], range.count == 32 else { return nil }
        let values = (0..<8).map { Double(number(range.lowerBound + 4 * $0)) / 100_000 }
        return ColorPrimaries(
            red: (values[2], values[3]), green: (values[4], values[5]), blue: (values[6], values[7]),
            white: (values[0], values[1]))
    }

    /// The profile of an iCCP chunk: a name, a zero, a compression method, and a zlib stream.
    private func profile(_ range: Range<Int>) -> EmbeddedColors {
        guard let end = bytes[range].prefix(80).firstIndex(of: 0), end + 2 < range.upperBound, bytes[end + 1] == 0
        else {
            return .broken("its color profile is ignored: it has no name")
        }
        let stream = bytes[(end + 2)..<range.upperBound]
        // No zlib stream expands more.
        let capacity = min(EmbeddedColors.maximumProfileSize, 1040 * stream.count)
        let profile = [UInt8](unsafeUninitializedCapacity: capacity) { out, count in
            count = stream.withUnsafeBytes {
                lk_inflate($0.baseAddress?.assumingMemoryBound(to: UInt8.self), $0.count, out.baseAddress, capacity)
            }
        }
        return profile.isEmpty
            ? .broken("its color profile is ignored: it is damaged, or larger than 16 MiB") : .profile(profile)
    }

    private func number(_ at: Int) -> Int {
        Int(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self)))
    }
}
