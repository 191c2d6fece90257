#if TextRecognition
import CTextRecognition
public import Compute
public import Foundation
public import Imaging
import Synchronization

/// A line of text in an image.
public struct TextLine: Sendable, Hashable {
    /// Its words, with spaces between.
    public let text: String
    /// How sure its words are on average, 0...1.
    public let confidence: Double
    /// Where the image shows it, clockwise from the text's own top left.
    public let outline: Quadrilateral
}

/// Reads the text of images with [Tesseract](https://github.com/tesseract-ocr/tesseract).
///
/// What it reads finds entities by their titles and attributes, in the ranking of what the image shows:
///
/// ```swift
/// let reader = try TextReader()
/// var options = SearchOptions()
/// options.texts = try reader.lines(in: photo).map(\.text)
/// let matches = try await catalog.search(matching: photo, options: options)
/// ```
///
/// A reader reads one image at a time; further callers wait. Several readers read side by side, with some tens of
/// megabytes each. Tesseract has threads of its own where it was built with OpenMP; `OMP_THREAD_LIMIT=1` in the
/// environment keeps it to one.
public final class TextReader: Sendable {
    /// Used by one thread at a time.
    private struct Handle: @unchecked Sendable {
        let reader: OpaquePointer
    }

    private let handle: Mutex<Handle>

    /// Less sure words are left out: they are textures more often than text.
    private static let leastConfidence: Float = 0.5
    /// Letters in sure lines that make the other turns needless.
    private static let enoughLetters = 12
    private static let sureConfidence = 0.75
    /// Smaller images are read at twice their size: Tesseract needs letters of about 20 pixels.
    private static let smallSide = 1_400
    /// Larger ones at a part of it, which bounds the time.
    private static let largeSide = 2_800

    /// A reader of some languages.
    ///
    /// - Parameters:
    ///   - languages: names of Tesseract's data, such as `eng`, `deu`, `jpn`.
    ///   - folder: has their files; the library's own, or that of the environment variable `TESSDATA_PREFIX`, if nil.
    /// - Throws: ``TextReaderError`` if the data of a language are not there.
    public init(languages: [String] = ["eng"], data folder: URL? = nil) throws(TextReaderError) {
        let names = languages.joined(separator: "+")
        guard !languages.isEmpty, !names.utf8.contains(0), let reader = lk_text_reader_open(folder?.path, names) else {
            throw TextReaderError(
                subject: languages.isEmpty ? "languages" : names,
                reason: "Tesseract has no data for it; on Debian they are in tesseract-ocr-LANGUAGE")
        }
        handle = Mutex(Handle(reader: reader))
    }

    deinit { handle.withLock { lk_text_reader_close($0.reader) } }

    /// The lines of text in an image, in the order in which Tesseract finds them.
    ///
    /// If the image has little text as it is, its quarter turns are tried, and the one with most text counts.
    ///
    /// - Throws: ``TextReaderError`` without memory.
    /// - Complexity: O(pixels); about a second per megapixel and turn on one thread.
    public func lines(in image: PixelBuffer) throws(TextReaderError) -> [TextLine] {
        let gray = GrayImage(image, smallSide: Self.smallSide, largeSide: Self.largeSide)
        var best: [TextLine] = []
        for turns in 0..<4 {
            let lines = try read(gray, turns: turns)
            if Self.sureLetters(lines) > Self.sureLetters(best) || best.isEmpty { best = lines }
            if Self.sureLetters(lines) >= Self.enoughLetters { return lines }
        }
        return best
    }

    private static func sureLetters(_ lines: [TextLine]) -> Int {
        lines.reduce(0) { count, line in
            guard line.confidence >= sureConfidence else { return count }
            return count
                + line.text.split(separator: " ").reduce(0) { $0 + ($1.count >= 3 ? $1.count(where: \.isLetter) : 0) }
        }
    }

    private func read(_ gray: GrayImage, turns: Int) throws(TextReaderError) -> [TextLine] {
        let turned = gray.turned(turns)
        let lines: [TextLine]? = handle.withLock { handle in
            var found: UnsafeMutablePointer<lk_text_line>?
            let count = lk_text_reader_read(
                handle.reader, turned.bytes, Int32(turned.width), Int32(turned.height), Self.leastConfidence, &found)
            guard count >= 0 else { return nil }
            defer { lk_text_lines_release(found, count) }
            return UnsafeBufferPointer(start: found, count: Int(count)).map { line in
                let (left, top, right, bottom) = line.box
                func point(_ x: Int32, _ y: Int32) -> Quadrilateral.Point {
                    GrayImage.unturned(
                        Double(x) / Double(turned.width), Double(y) / Double(turned.height), turns: turns)
                }
                return TextLine(
                    text: String(cString: line.text), confidence: Double(line.confidence),
                    outline: Quadrilateral(
                        topLeft: point(left, top), topRight: point(right, top), bottomRight: point(right, bottom),
                        bottomLeft: point(left, bottom)))
            }
        }
        guard let lines else { throw TextReaderError(subject: "text", reason: "Tesseract cannot read the image") }
        return lines
    }
}

/// Why text cannot be read.
public struct TextReaderError: DescribedError, Equatable {
    /// The languages, or what was read.
    public let subject: String
    /// What is wrong with it.
    public let reason: String

    public var description: String { "\(subject): \(reason)" }
}

/// Gray pixels without padding.
private struct GrayImage {
    var width: Int
    var height: Int
    var bytes: [UInt8]

    private init(width: Int, height: Int, bytes: [UInt8]) {
        (self.width, self.height, self.bytes) = (width, height, bytes)
    }

    /// An image of which the long side is between the small and the large one, or nearly: it is doubled, or a whole
    /// number of times smaller.
    init(_ image: PixelBuffer, smallSide: Int, largeSide: Int) {
        let longSide = max(image.width, image.height)
        let (larger, smaller) = (longSide < smallSide ? 2 : 1, max(1, longSide / largeSide))
        width = max(1, image.width * larger / smaller)
        height = max(1, image.height * larger / smaller)
        var luma = [Float](repeating: 0, count: width * height)
        let resizer = LumaResizer(width: width, height: height)
        luma.withUnsafeMutableBufferPointer { resizer.resize(image, into: $0, stride: resizer.width) }
        bytes = luma.map { UInt8(max(0, min(255, ($0 * 255).rounded()))) }
    }

    /// Turned clockwise by quarters.
    func turned(_ turns: Int) -> GrayImage {
        guard turns > 0 else { return self }
        let (columns, rows) = turns % 2 == 0 ? (width, height) : (height, width)
        let turned = [UInt8](unsafeUninitializedCapacity: columns * rows) { out, count in
            for y in 0..<rows {
                for x in 0..<columns {
                    let place =
                        switch turns {
                        case 1: (height - 1 - x) * width + y
                        case 2: (height - 1 - y) * width + width - 1 - x
                        default: x * width + width - 1 - y
                        }
                    out[y * columns + x] = bytes[place]
                }
            }
            count = columns * rows
        }
        return GrayImage(width: columns, height: rows, bytes: turned)
    }

    /// The place in the image of one in the turned image, as fractions of the sides.
    static func unturned(_ x: Double, _ y: Double, turns: Int) -> Quadrilateral.Point {
        switch turns {
        case 0: Quadrilateral.Point(x: x, y: y)
        case 1: Quadrilateral.Point(x: y, y: 1 - x)
        case 2: Quadrilateral.Point(x: 1 - x, y: 1 - y)
        default: Quadrilateral.Point(x: 1 - y, y: x)
        }
    }
}
#endif
