#if Service
import Lookalike

/// A rectangle of an image, as fractions of its sides.
struct ImageRegion: Sendable, Hashable {
    let x: Double
    let y: Double
    let width: Double
    let height: Double

    /// The smallest part of a side, less than a pixel of any image.
    private static let smallest = 1e-5

    /// A rectangle.
    ///
    /// - Throws: ``Problem`` unless the rectangle is inside the image and not empty.
    init(x: Double, y: Double, width: Double, height: Double) throws(Problem) {
        // Fractions that were computed may be a little outside.
        let slack = 1e-6
        (self.x, self.y) = (max(0, x), max(0, y))
        (self.width, self.height) = (min(width, 1 - self.x), min(height, 1 - self.y))
        guard [x, y, width, height].allSatisfy(\.isFinite), x >= -slack, y >= -slack,
            x + width <= 1 + slack, y + height <= 1 + slack,
            self.width >= Self.smallest, self.height >= Self.smallest
        else {
            throw Problem(
                .invalidRequest,
                "A region is “x,y,width,height” in fractions of the image's sides: inside the image, and not empty.")
        }
    }

    /// Reads `x,y,width,height`.
    init(text: String) throws(Problem) {
        let numbers = text.split(separator: ",").map { Double($0.trimmingPrefix(" ")) ?? .nan }
        guard numbers.count == 4 else { throw Problem(.invalidRequest, "A region has four numbers: x,y,width,height.") }
        try self.init(x: numbers[0], y: numbers[1], width: numbers[2], height: numbers[3])
    }

    /// The pixels of the region; at least one.
    func pixels(of image: PixelBuffer) -> PixelRegion {
        let left = min(image.width - 1, Int(x * Double(image.width)))
        let top = min(image.height - 1, Int(y * Double(image.height)))
        let right = max(left + 1, min(image.width, Int(((x + width) * Double(image.width)).rounded(.up))))
        let bottom = max(top + 1, min(image.height, Int(((y + height) * Double(image.height)).rounded(.up))))
        return PixelRegion(x: left, y: top, width: right - left, height: bottom - top)
    }

    /// A point of the region as a point of the image.
    func imagePoint(_ point: Quadrilateral.Point) -> Quadrilateral.Point {
        Quadrilateral.Point(x: x + point.x * width, y: y + point.y * height)
    }
}

extension ImageRegion: Decodable {
    private enum CodingKeys: String, CodingKey, CaseIterable { case x, y, width, height }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(
            x: values.decode(Double.self, forKey: .x), y: values.decode(Double.self, forKey: .y),
            width: values.decode(Double.self, forKey: .width), height: values.decode(Double.self, forKey: .height))
    }
}
#endif
