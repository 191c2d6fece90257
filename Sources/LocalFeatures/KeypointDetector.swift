import CKernels
import Compute
import Foundation

/// Finds extrema of a scale space, places them between pixels and scales, and picks the strongest.
///
/// Lowe, sections 3 and 4.
struct KeypointDetector {
    /// The smallest difference of Gaussians that counts, of intensities in 0...1. A quarter of Lowe's: the number of
    /// keypoints is bounded anyway, and dim photographs have no strong ones.
    private static let contrast: Float = 0.01
    /// The largest ratio of principal curvatures; points on edges have larger ones.
    private static let edgeRatio: Float = 10
    /// Pixels along the borders of an octave where no keypoints are looked for.
    private static let border = 5
    private static let mostSteps = 5
    private static let mostExtremaPerScale = 20_000

    /// An extremum, placed within its octave.
    struct Extremum {
        let octave: Int
        /// The Gaussian that is nearest in scale.
        let plane: Int
        /// The position in pixels of the octave.
        let x: Float
        let y: Float
        /// The standard deviation, in pixels of the octave.
        let sigma: Float
        /// The absolute difference of Gaussians.
        let response: Float
    }

    let kernels: SIMDTarget

    /// The `limit` strongest extrema, strongest first.
    ///
    /// O(pixels + extrema · log extrema).
    func extrema(of space: ScaleSpace, limit: Int) -> [Extremum] {
        var all: [Extremum] = []
        let scales = ScaleSpace.scalesPerOctave
        withUnsafeTemporaryAllocation(of: lk_pixel.self, capacity: Self.mostExtremaPerScale) { found in
            for (index, octave) in space.octaves.enumerated() {
                for scale in 1...scales {
                    let planes = (scale - 1...scale + 1).map { Optional(UnsafePointer(octave.differences[$0])) }
                    let count = kernels.table.scale_space_extrema(
                        planes, octave.stride, Int32(octave.width), Int32(octave.height), Int32(Self.border),
                        0.5 * Self.contrast / Float(scales), found.baseAddress, found.count)
                    for pixel in found[..<count] {
                        if let extremum = refine(pixel, scale: scale, of: octave, index: index) { all.append(extremum) }
                    }
                }
            }
        }
        // Equal responses keep the order of octaves and pixels, so that results are the same every time.
        let order = all.indices.sorted { (all[$1].response, $0) < (all[$0].response, $1) }
        return order.prefix(limit).map { all[$0] }
    }

    /// Fits a quadratic to the 26 neighbors and moves to its extremum (Brown and Lowe, "Invariant Features from
    /// Interest Point Groups", 2002). Nil for points of low contrast, points on edges, and points that do not settle.
    private func refine(_ pixel: lk_pixel, scale: Int, of octave: ScaleSpace.Octave, index: Int) -> Extremum? {
        let stride = octave.stride
        var (x, y, scale) = (Int(pixel.x), Int(pixel.y), scale)
        for _ in 0..<Self.mostSteps {
            let at = y * stride + x
            let (a, b, c) = (
                octave.differences[scale - 1] + at, octave.differences[scale] + at, octave.differences[scale + 1] + at
            )
            let gradient = SIMD3((b[1] - b[-1]) / 2, (b[stride] - b[-stride]) / 2, (c[0] - a[0]) / 2)
            let xx = b[1] + b[-1] - 2 * b[0]
            let yy = b[stride] + b[-stride] - 2 * b[0]
            let ss = c[0] + a[0] - 2 * b[0]
            let xy = (b[stride + 1] - b[stride - 1] - b[-stride + 1] + b[-stride - 1]) / 4
            let xs = (c[1] - c[-1] - a[1] + a[-1]) / 4
            let ys = (c[stride] - c[-stride] - a[stride] + a[-stride]) / 4
            // The inverse of the symmetric Hessian, by cofactors.
            let cofactors = (
                SIMD3(yy * ss - ys * ys, xs * ys - xy * ss, xy * ys - xs * yy),
                SIMD3(xs * ys - xy * ss, xx * ss - xs * xs, xs * xy - xx * ys),
                SIMD3(xy * ys - xs * yy, xs * xy - xx * ys, xx * yy - xy * xy)
            )
            let determinant = xx * cofactors.0.x + xy * cofactors.0.y + xs * cofactors.0.z
            guard abs(determinant) > 1e-20 else { return nil }
            let offset =
                -SIMD3((cofactors.0 * gradient).sum(), (cofactors.1 * gradient).sum(), (cofactors.2 * gradient).sum())
                / determinant
            let largest = max(abs(offset.x), abs(offset.y), abs(offset.z))
            guard largest < 3 else { return nil }
            if largest < 0.5 {
                let value = b[0] + (gradient * offset).sum() / 2
                let (trace, product) = (xx + yy, xx * yy - xy * xy)
                let ratio = Self.edgeRatio
                guard abs(value) * Float(ScaleSpace.scalesPerOctave) >= Self.contrast, product > 0,
                    trace * trace * ratio < (ratio + 1) * (ratio + 1) * product
                else { return nil }
                let place = Float(scale) + offset.z
                return Extremum(
                    octave: index, plane: scale, x: Float(x) + offset.x, y: Float(y) + offset.y,
                    sigma: ScaleSpace.baseSigma * exp2(place / Float(ScaleSpace.scalesPerOctave)), response: abs(value))
            }
            x += Int(offset.x.rounded())
            y += Int(offset.y.rounded())
            scale += Int(offset.z.rounded())
            guard (1...ScaleSpace.scalesPerOctave).contains(scale),
                (Self.border..<octave.width - Self.border).contains(x),
                (Self.border..<octave.height - Self.border).contains(y)
            else { return nil }
        }
        return nil
    }
}
