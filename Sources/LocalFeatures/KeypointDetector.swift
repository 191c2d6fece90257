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

    /// A pixel whose difference of Gaussians is above or below those of its neighbors.
    struct Candidate {
        let octave: Int
        let scale: Int
        let pixel: lk_pixel
    }

    /// Adds the extreme pixels of rows of an octave, whose planes are complete down to the row below.
    ///
    /// O(pixels).
    func addCandidates(in rows: Range<Int>, ofOctave index: Int, of space: ScaleSpace, to candidates: inout [Candidate])
    {
        let octave = space.octaves[index]
        let rows = rows.clamped(to: Self.border..<max(Self.border, octave.height - Self.border))
        guard !rows.isEmpty else { return }
        let scales = ScaleSpace.scalesPerOctave
        withUnsafeTemporaryAllocation(of: lk_pixel.self, capacity: rows.count * octave.width) { found in
            for scale in 1...scales {
                let gaussians = octave.gaussians[(scale - 1)...(scale + 2)].map { Optional(UnsafePointer($0)) }
                let count = kernels.table.scale_space_extrema(
                    gaussians, octave.stride, Int32(octave.width), Int32(rows.lowerBound), Int32(rows.upperBound),
                    Int32(Self.border), 0.5 * Self.contrast / Float(scales), found.baseAddress, found.count)
                for pixel in found[..<count] {
                    candidates.append(Candidate(octave: index, scale: scale, pixel: pixel))
                }
            }
        }
    }

    /// The `limit` strongest extrema near candidates, strongest first.
    ///
    /// O(candidates · log candidates).
    func extrema(_ candidates: [Candidate], of space: ScaleSpace, limit: Int) -> [Extremum] {
        let all = candidates.compactMap {
            refine($0.pixel, scale: $0.scale, of: space.octaves[$0.octave], index: $0.octave)
        }
        return strongest(limit, of: all)
    }

    private func strongest(_ limit: Int, of all: [Extremum]) -> [Extremum] {
        // Equal responses keep their order, so that results are the same every time. Numbers are sorted faster than
        // extrema by a closure: the bits of a positive float, descending, and a place.
        let order = all.indices.map { UInt64(~all[$0].response.bitPattern) << 32 | UInt64($0) }.sorted()
        return order.prefix(limit).map { all[Int($0 & 0xFFFF_FFFF)] }
    }

    /// Fits a quadratic to the 26 neighbors and moves to its extremum (Brown and Lowe, "Invariant Features from
    /// Interest Point Groups", 2002). Nil for points of low contrast, points on edges, and points that do not settle.
    private func refine(_ pixel: lk_pixel, scale: Int, of octave: ScaleSpace.Octave, index: Int) -> Extremum? {
        let stride = octave.stride
        var (x, y, scale) = (Int(pixel.x), Int(pixel.y), scale)
        for _ in 0..<Self.mostSteps {
            let at = y * stride + x
            let (a, b, c) = (
                octave.difference(scale - 1, at), octave.difference(scale, at), octave.difference(scale + 1, at)
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
