import Imaging
import LocalFeatures

/// Overlapping parts of an image in which its keypoints are extracted at a finer scale.
struct ImageTiles {
    let regions: [PixelRegion]
    /// Pixels of the keypoints' plane per pixel of the image.
    private let scale: Double

    /// Longer sides are searched in tiles even if nothing is found in the whole image.
    static let largeSide = 5_000
    /// What is decoded of a longer side at least: half of it, nearly the pixels of the tiles' planes.
    static let keptLongSide = 2_500
    /// So are images with this ratio of sides, unless they are small.
    private static let longRatio = 3
    private static let detail = LocalFeatureExtractor.Detail.fineQuery
    /// What tiles have in common, in pixels of the keypoints' plane: the size of an object that no tile has to cut.
    private static let overlap = 192.0
    /// The scale: an image is made this long, and a long one this wide. It is at most enlarged to twice its size.
    private static let longSide = 3 * Double(detail.longSide)
    private static let shortSide = 640.0
    private static let largestScale = 2.0

    static func isLongOrLarge(_ image: PixelBuffer) -> Bool {
        // A file may have been decoded at a smaller size.
        let (width, height) = image.sourceSize
        let (long, short) = (max(width, height), min(width, height))
        return long > largeSide || long >= longRatio * short && long >= 2 * detail.longSide
    }

    /// - Parameter count: the maximum number of tiles; the scale is smaller where there would be more.
    init(of image: PixelBuffer, count: Int) {
        let (width, height) = (Double(image.width), Double(image.height))
        var scale = min(
            Self.largestScale, max(Self.longSide / max(width, height), Self.shortSide / min(width, height)))
        while Self.count(width, scale) * Self.count(height, scale) > count { scale *= 0.95 }
        let (columns, rows) = (Self.ranges(image.width, scale), Self.ranges(image.height, scale))
        regions = rows.flatMap { row in
            columns.map { PixelRegion(x: $0.lowerBound, y: row.lowerBound, width: $0.count, height: row.count) }
        }
        self.scale = scale
    }

    /// How the keypoints of a tile are extracted.
    func detail(of tile: PixelBuffer) -> LocalFeatureExtractor.Detail {
        let side = Int((Double(max(tile.width, tile.height)) * scale).rounded())
        return .init(longSide: min(max(side, 32), Self.detail.longSide), keypointCount: Self.detail.keypointCount)
    }

    /// The number of tiles along a side.
    private static func count(_ side: Double, _ scale: Double) -> Int {
        max(1, Int(((side * scale - overlap) / (Double(detail.longSide) - overlap)).rounded(.up)))
    }

    /// Equal parts of a side that overlap.
    private static func ranges(_ side: Int, _ scale: Double) -> [Range<Int>] {
        let count = count(Double(side), scale)
        guard count > 1 else { return [0..<side] }
        let length = min(side, Int(((Double(side) + Double(count - 1) * overlap / scale) / Double(count)).rounded(.up)))
        return (0..<count).map { index in
            let start = (side - length) * index / (count - 1)
            return start..<(start + length)
        }
    }
}
