import Lookalike

/// An RGB picture to draw on.
struct Canvas {
    typealias Color = (red: UInt8, green: UInt8, blue: UInt8)

    let width: Int
    let height: Int
    private var pixels: [UInt8]

    init(width: Int, height: Int, color: Color) {
        self.width = width
        self.height = height
        pixels = [UInt8](repeating: 0, count: width * height * 3)
        fill(x: 0, y: 0, width: width, height: height, color: color)
    }

    mutating func fill(x: Int, y: Int, width: Int, height: Int, color: Color) {
        for row in max(0, y)..<min(self.height, y + height) {
            for column in max(0, x)..<min(self.width, x + width) {
                let at = (row * self.width + column) * 3
                (pixels[at], pixels[at + 1], pixels[at + 2]) = color
            }
        }
    }

    /// Draws an RGB image that lies inside the canvas.
    mutating func draw(_ image: PixelBuffer, x: Int, y: Int) {
        precondition(
            image.format == .rgb8 && x >= 0 && y >= 0 && x + image.width <= width && y + image.height <= height)
        image.withUnsafeBytes { bytes in
            for row in 0..<image.height {
                for byte in 0..<(image.width * 3) {
                    pixels[((y + row) * width + x) * 3 + byte] = bytes[row * image.bytesPerRow + byte]
                }
            }
        }
    }

    private static let dot = 2

    static func textWidth(_ text: String) -> Int { text.count * 6 * dot }

    /// Capital letters, digits and full stops, each a grid of 5 × 7 dots.
    mutating func write(_ text: String, x: Int, y: Int, color: Color) {
        for (index, character) in text.enumerated() {
            let rows = DotFont.rows(of: character)
            for (row, bits) in rows.enumerated() {
                for column in 0..<5 where bits >> (4 - column) & 1 == 1 {
                    fill(
                        x: x + (index * 6 + column) * Self.dot, y: y + row * Self.dot, width: Self.dot,
                        height: Self.dot,
                        color: color)
                }
            }
        }
    }

    func image() throws -> PixelBuffer { try PixelBuffer(pixels, width: width, height: height, format: .rgb8) }
}

/// The few characters that captions need, so that no font has to be installed.
enum DotFont {
    /// Seven rows of five bits, the leftmost dot first; a space for what is unknown.
    static func rows(of character: Character) -> [UInt8] { glyphs[character] ?? [0, 0, 0, 0, 0, 0, 0] }

    private static let glyphs: [Character: [UInt8]] = [
        "0": [14, 17, 19, 21, 25, 17, 14], "1": [4, 12, 4, 4, 4, 4, 14], "2": [14, 17, 1, 6, 8, 16, 31],
        "3": [30, 1, 1, 14, 1, 1, 30], "4": [2, 6, 10, 18, 31, 2, 2], "5": [31, 16, 30, 1, 1, 17, 14],
        "6": [6, 8, 16, 30, 17, 17, 14], "7": [31, 1, 2, 4, 8, 8, 8], "8": [14, 17, 17, 14, 17, 17, 14],
        "9": [14, 17, 17, 15, 1, 2, 12], ".": [0, 0, 0, 0, 0, 12, 12],
        "A": [14, 17, 17, 31, 17, 17, 17], "C": [14, 17, 16, 16, 16, 17, 14], "E": [31, 16, 16, 30, 16, 16, 31],
        "H": [17, 17, 17, 31, 17, 17, 17], "M": [17, 27, 21, 21, 17, 17, 17], "N": [17, 25, 21, 19, 17, 17, 17],
        "O": [14, 17, 17, 17, 17, 17, 14], "Q": [14, 17, 17, 17, 21, 18, 13], "R": [30, 17, 17, 30, 20, 18, 17],
        "T": [31, 4, 4, 4, 4, 4, 4], "U": [17, 17, 17, 17, 17, 17, 14], "Y": [17, 17, 10, 4, 4, 4, 4],
    ]
}
