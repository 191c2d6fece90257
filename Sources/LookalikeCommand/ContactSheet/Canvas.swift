import Lookalike

/// An RGB picture to draw on.
struct Canvas {
    typealias Color = (red: UInt8, green: UInt8, blue: UInt8)
    typealias Point = (x: Double, y: Double)

    /// A rectangle of whole pixels.
    struct Area {
        var x: Int
        var y: Int
        var width: Int
        var height: Int

        /// The area with `margin` pixels less on each side; more if it is negative.
        func inset(by margin: Int) -> Area {
            Area(x: x + margin, y: y + margin, width: width - 2 * margin, height: height - 2 * margin)
        }
    }

    let width: Int
    let height: Int
    private var pixels: [UInt8]

    init(width: Int, height: Int, color: Color) {
        self.width = width
        self.height = height
        pixels = [UInt8](repeating: 0, count: width * height * 3)
        fill(Area(x: 0, y: 0, width: width, height: height), color: color)
    }

    mutating func fill(_ area: Area, color: Color) {
        for row in rows(of: area) {
            for column in columns(of: area) {
                let at = (row * width + column) * 3
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

    /// Draws an antialiased line through points, in pixels from the top left corner of the canvas, with round ends.
    ///
    /// Each pixel is covered by its distance to the nearest segment, so that joints have no gaps and no overlaps.
    ///
    /// - Parameters:
    ///   - isClosed: whether the last point is joined to the first.
    ///   - lineWidth: in pixels.
    ///   - clip: nothing is drawn outside of it.
    mutating func stroke(_ points: [Point], isClosed: Bool = false, lineWidth: Double, color: Color, clip: Area) {
        guard let first = points.first else { return }
        let ends = points.dropFirst() + (isClosed || points.count == 1 ? [first] : [])
        let reach = lineWidth / 2 + 0.5
        for row in rows(of: clip) {
            for column in columns(of: clip) {
                let center = (x: Double(column) + 0.5, y: Double(row) + 0.5)
                let distance = zip(points, ends).map { Self.distance(from: center, to: $0, $1) }.min() ?? .infinity
                blend(color, over: (row * width + column) * 3, share: min(max(reach - distance, 0), 1))
            }
        }
    }

    private static func distance(from point: Point, to start: Point, _ end: Point) -> Double {
        let (x, y) = (end.x - start.x, end.y - start.y)
        let squares = x * x + y * y
        let along = squares > 0 ? ((point.x - start.x) * x + (point.y - start.y) * y) / squares : 0
        let part = min(max(along, 0), 1)
        let (dx, dy) = (point.x - start.x - part * x, point.y - start.y - part * y)
        return (dx * dx + dy * dy).squareRoot()
    }

    private mutating func blend(_ color: Color, over at: Int, share: Double) {
        guard share > 0 else { return }
        func mixed(_ below: UInt8, _ above: UInt8) -> UInt8 {
            UInt8((Double(below) + (Double(above) - Double(below)) * share).rounded())
        }
        pixels[at] = mixed(pixels[at], color.red)
        pixels[at + 1] = mixed(pixels[at + 1], color.green)
        pixels[at + 2] = mixed(pixels[at + 2], color.blue)
    }

    private func rows(of area: Area) -> Range<Int> {
        let first = min(max(0, area.y), height)
        return first..<max(first, min(height, area.y + area.height))
    }

    private func columns(of area: Area) -> Range<Int> {
        let first = min(max(0, area.x), width)
        return first..<max(first, min(width, area.x + area.width))
    }

    /// The pixels between the start of a character and the start of the next, for each pixel of a dot.
    static let characterStep = 6

    static func textWidth(_ text: String, dot: Int) -> Int { (text.count * characterStep - 1) * dot }

    static func textHeight(dot: Int) -> Int { DotFont.rowCount * dot }

    /// Writes text in ``DotFont``, each dot a square of `dot` pixels.
    mutating func write(_ text: String, x: Int, y: Int, dot: Int, color: Color) {
        for (index, character) in text.enumerated() {
            for (row, bits) in DotFont.rows(of: character).enumerated() {
                for column in 0..<5 where bits >> (4 - column) & 1 == 1 {
                    fill(
                        Area(
                            x: x + (index * Self.characterStep + column) * dot, y: y + row * dot, width: dot,
                            height: dot),
                        color: color)
                }
            }
        }
    }

    func image() throws -> PixelBuffer { try PixelBuffer(pixels, width: width, height: height, format: .rgb8) }
}
