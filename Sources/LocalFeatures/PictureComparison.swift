import Foundation
package import Imaging

/// How two catalog images that have the same picture lie over each other, by their stored features and thumbnails.
///
/// A homography says where one image lies in the other. The pixels of the thumbnails are compared there
/// (``PixelComparison``). Without thumbnails the keypoints are: those of the same picture are at the same places with
/// the same scales and directions, all over the part that both images show. Documents of one template share as many
/// keypoints as a copy of another size does, but they differ in whole regions: where they are filled in.
package struct PictureComparison: Sendable {
    /// The share of the first image that the second one shows too, 0...1.
    package let firstShare: Double
    /// The share of the second image that the first one shows too, 0...1.
    package let secondShare: Double
    /// By how much the second image is turned in the first one, clockwise: -π...π.
    package let turn: Double
    /// What the pixels say; nil without thumbnails.
    package let pixels: PixelComparison.Difference?

    /// Fewer features that agree say nothing.
    private static let leastSupport = 8
    /// The smaller image of a pair lies within the larger one, but for its edges.
    private static let leastInside = 0.8
    /// A smaller part than this is a detail: a logo that two pictures have in common.
    private static let leastPart = 0.2
    /// Copies with a mark show all of the picture, or of a part of it; two frames of a burst each show more on one
    /// side.
    private static let leastMarked = 0.97

    /// Compares two images; nil if they have different pictures. O(features² + pixels of the thumbnails).
    ///
    /// - Parameter thumbnails: of both images; asked for if one image lies in the other.
    package init?(
        _ first: LocalFeatures, _ second: LocalFeatures, model: LocalFeatureModel,
        thumbnails: () throws -> (PixelBuffer, PixelBuffer)?
    ) rethrows {
        guard let found = LocalFeatureQuery(first, model: model).verify(second),
            found.supportCount >= Self.leastSupport
        else { return nil }
        let inside = found.outline.visibleShare
        let covered = min(found.outline.area * inside, 1)
        guard max(inside, covered) >= Self.leastInside, min(inside, covered) >= Self.leastPart,
            let back = LocalFeatureQuery(second, model: model).verify(first)
        else { return nil }
        // The image that shows less lies in the other one.
        let pixels = try thumbnails().flatMap { images in
            inside < covered
                ? PixelComparison(images.1, images.0, at: back.outline)
                : PixelComparison(images.0, images.1, at: found.outline)
        }?.difference
        let isSame =
            pixels.map { $0 != .content && ($0 != .mark || max(inside, covered) >= Self.leastMarked) }
            ?? (second.common(with: first, at: found.outline).isSamePicture
                && first.common(with: second, at: back.outline).isSamePicture)
        guard isSame else { return nil }
        (firstShare, secondShare, self.pixels) = (covered, inside, pixels)
        let (left, right) = (found.outline.topLeft, found.outline.topRight)
        turn = atan2((right.y - left.y) * Double(first.height), (right.x - left.x) * Double(first.width))
    }
}

/// The keypoints that an image has in common with another one over which it lies.
struct CommonKeypoints {
    /// The keypoints that lie within the other image and are large enough for it.
    let visibleCount: Int
    /// The share of them that the other image has too, 0...1.
    let share: Double
    /// The share of them that the other image lacks, with all around them.
    let missingRegions: Double

    /// Copies of other sizes, qualities and colors, crops and copies with a border share 0.4 and more in 97 of 100
    /// pairs; documents of one template 0.2 to 0.75.
    private static let leastShare = 0.4
    /// Keypoints are lacking here and there in a copy, the more often the fewer it shares. Of 100 copies 94 stay below
    /// this, and of 2,352 pairs of documents of one template 11: forms with little to fill in.
    private static let missingRegions: (least: Double, slope: Double) = (0.02, 0.5)

    /// Whether both images have the same picture, as far as both show it.
    var isSamePicture: Bool {
        share >= Self.leastShare
            && missingRegions <= Self.missingRegions.least + Self.missingRegions.slope * (1 - share) * (1 - share)
    }
}

extension LocalFeatures {
    /// Keypoints of two images are at the same place if they differ by less than this share of the long side, this part
    /// of an octave, and this angle.
    private static let tolerance: (place: Float, octaves: Float, angle: Float) = (0.012, 0.3, 0.3)
    /// The keypoints around one.
    private static let neighborCount = 4

    /// Compares the places, scales and directions of keypoints, and no descriptors. O(features²).
    ///
    /// - Parameter outline: where the image lies in the other one.
    func common(with other: LocalFeatures, at outline: Quadrilateral) -> CommonKeypoints {
        let place = ProjectiveTransform(unitSquareTo: outline)
        func project(_ x: Float, _ y: Float) -> SIMD2<Float> {
            let (u, v) = place(Double(x) / Double(width), Double(y) / Double(height))
            return SIMD2(Float(u) * Float(other.width), Float(v) * Float(other.height))
        }
        let smallest = other.keypoints.lazy.map(\.scale).min() ?? 0
        var visible: [(at: SIMD2<Float>, isFound: Bool)] = []
        for point in keypoints {
            let at = project(point.x, point.y)
            guard at.x >= 0, at.y >= 0, at.x <= Float(other.width), at.y <= Float(other.height) else { continue }
            let axis = project(point.x + point.scale * cos(point.angle), point.y + point.scale * sin(point.angle)) - at
            let scale = (axis * axis).sum().squareRoot()
            guard scale >= smallest else { continue }
            let isFound = other.has(Keypoint(x: at.x, y: at.y, scale: scale, angle: atan2(axis.y, axis.x)))
            visible.append((at, isFound))
        }
        let missing = visible.count { point in
            guard !point.isFound else { return false }
            let around = visible.map { other in
                (distance: ((other.at - point.at) * (other.at - point.at)).sum(), isFound: other.isFound)
            }.sorted { $0.distance < $1.distance }
            // The first is the keypoint itself, or another one at its place.
            return around.prefix(Self.neighborCount + 1).allSatisfy { !$0.isFound }
        }
        let count = max(visible.count, 1)
        return CommonKeypoints(
            visibleCount: visible.count, share: Double(visible.count { $0.isFound }) / Double(count),
            missingRegions: Double(missing) / Double(count))
    }

    private func has(_ point: Keypoint) -> Bool {
        let reach = Self.tolerance.place * Float(max(width, height))
        return keypoints.contains {
            guard abs($0.x - point.x) < reach, abs($0.y - point.y) < reach,
                abs(log2($0.scale / point.scale)) < Self.tolerance.octaves
            else { return false }
            return abs(($0.angle - point.angle).remainder(dividingBy: 2 * .pi)) < Self.tolerance.angle
        }
    }

    /// Mirrored copies share 0.73 to 0.98 of their keypoints, other pictures 0.13 at most.
    private static let leastMirrored = 0.5

    /// Whether the keypoints of another image are at the mirrored places of these, with mirrored directions.
    ///
    /// Descriptors change when an image is mirrored, and are not compared. O(features²).
    package func isMirrored(of other: LocalFeatures) -> Bool {
        let common = common(with: other, at: Quadrilateral.unit.mirrored)
        return common.visibleCount > 0 && common.share >= Self.leastMirrored
    }
}
