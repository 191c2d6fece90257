import CKernels
import Compute
import Foundation

/// An image at many scales: Gaussians of growing width, per octave.
///
/// Lowe, section 3: three scales per octave, from a standard deviation of 1.6 pixels on. The memory is kept from one
/// image to the next, since allocating it costs more than the blurs.
final class ScaleSpace {
    /// Scales per octave at which extrema are looked for.
    static let scalesPerOctave = 3
    /// The standard deviation of the first Gaussian of an octave, in pixels of that octave.
    static let baseSigma: Float = 1.6
    /// The blur that a resized image is taken to have.
    private static let assumedSigma: Float = 0.5
    private static let mostOctaves = 5
    /// Octaves with a shorter side hold no keypoints that are worth having.
    private static let shortestSide = 16
    private static let hugePage = 2 << 20
    /// With these rows and those that kernels reach, six planes fit a second-level cache of 1 MB.
    private static let pixelsPerBand = 8_192

    /// Planes of one size: half as wide and high as the planes of the octave before.
    struct Octave {
        let width: Int
        let height: Int
        let stride: Int
        let gaussians: [UnsafeMutablePointer<Float>]

        /// The difference of a Gaussian and the next, around a pixel.
        func difference(_ index: Int, _ pixel: Int) -> Difference {
            Difference(less: UnsafePointer(gaussians[index] + pixel), more: UnsafePointer(gaussians[index + 1] + pixel))
        }

        func plane(_ index: Int) -> lk_plane {
            lk_plane(
                pixels: UnsafePointer(gaussians[index]), stride: stride, width: Int32(width), height: Int32(height))
        }
    }

    /// Two Gaussians, of which the wider one minus the other is read.
    struct Difference {
        fileprivate let less: UnsafePointer<Float>
        fileprivate let more: UnsafePointer<Float>

        /// - Parameter offset: in floats from the pixel.
        subscript(offset: Int) -> Float { more[offset] - less[offset] }
    }

    private(set) var octaves: [Octave] = []
    private let kernels: SIMDTarget
    private var memory: UnsafeMutableBufferPointer<Float>
    private let first: GaussianKernel
    private let steps: [GaussianKernel]

    init(kernels: SIMDTarget) {
        self.kernels = kernels
        memory = .init(start: nil, count: 0)
        let base = Self.baseSigma
        first = GaussianKernel(sigma: (base * base - Self.assumedSigma * Self.assumedSigma).squareRoot())
        steps = (1..<(Self.scalesPerOctave + 3)).map { scale in
            let ratio = Float(1) / Float(Self.scalesPerOctave)
            let (before, after) = (base * exp2(Float(scale - 1) * ratio), base * exp2(Float(scale) * ratio))
            return GaussianKernel(sigma: (after * after - before * before).squareRoot(), blurred: before)
        }
    }

    deinit { memory.baseAddress.map { UnsafeMutableRawPointer($0).deallocate() } }

    /// Floats from a row to the next: whole vectors, and one more.
    static func stride(width: Int) -> Int { (width + 15) / 16 * 16 + 16 }

    /// Builds the scale space of an image that `fill` writes: `height` rows, `stride` floats apart.
    ///
    /// An octave is built in bands of rows, each through all scales, so that what the next scale reads is in the cache.
    ///
    /// - Parameter whenBuilt: called with the number of an octave and its next rows, while they are in the cache. All
    ///   planes are complete down to the row below them.
    /// - Complexity: O(width · height). Once the cancellation is set, planes are left as they were.
    func build(
        width: Int, height: Int, cancellation: Cancellation = .none,
        fill: (UnsafeMutablePointer<Float>, _ stride: Int) -> Void,
        whenBuilt: (_ octave: Int, _ rows: Range<Int>) -> Void
    ) {
        let (source, line) = layOut(width: width, height: height)
        fill(source, octaves[0].stride)
        for (index, octave) in octaves.enumerated() {
            let image = lk_plane(
                pixels: source, stride: octave.stride, width: Int32(octave.width), height: Int32(octave.height))
            if index > 0 { halve(octaves[index - 1], into: octave) }
            let rowsPerBand = max(8, Self.pixelsPerBand / octave.stride)
            // The rows of each Gaussian that are complete.
            var complete = octave.gaussians.map { _ in 0 }
            if index > 0 { complete[0] = octave.height }
            var end = 0
            while end < octave.height {
                if cancellation.isCancelled { return }
                let start = end
                end = min(end + rowsPerBand, octave.height)
                // Each Gaussian needs more rows of the one before.
                var ends = [end]
                for kernel in steps.reversed() { ends.append(min(ends[ends.count - 1] + kernel.reach, octave.height)) }
                ends.reverse()
                for scale in octave.gaussians.indices where complete[scale] < ends[scale] {
                    blur(
                        scale == 0 ? image : octave.plane(scale - 1), by: scale == 0 ? first : steps[scale - 1],
                        rows: complete[scale]..<ends[scale], line: line, into: octave.gaussians[scale])
                    complete[scale] = ends[scale]
                }
                whenBuilt(index, max(0, start - 1)..<(end < octave.height ? end - 1 : end))
            }
        }
    }

    private func blur(
        _ plane: lk_plane, by kernel: GaussianKernel, rows: Range<Int>, line: UnsafeMutablePointer<Float>,
        into result: UnsafeMutablePointer<Float>
    ) {
        var plane = plane
        kernels.table.gaussian_blur(
            &plane, kernel.taps, Int32(kernel.radius), Int32(kernel.spacing), Int32(rows.lowerBound),
            Int32(rows.upperBound), line, result)
    }

    /// Every second pixel of the Gaussian that is twice as wide as the octave's first.
    private func halve(_ octave: Octave, into half: Octave) {
        let (source, target) = (octave.gaussians[Self.scalesPerOctave], half.gaussians[0])
        for y in 0..<half.height {
            let (from, to) = (source + 2 * y * octave.stride, target + y * half.stride)
            var x = 0
            while x + 16 <= half.width {
                let pixels = UnsafeRawPointer(from + 2 * x).loadUnaligned(as: SIMD32<Float>.self)
                UnsafeMutableRawPointer(to + x).storeBytes(of: pixels.evenHalf, as: SIMD16<Float>.self)
                x += 16
            }
            while x < half.width {
                to[x] = from[2 * x]
                x += 1
            }
        }
    }

    /// Octaves for an image of this size, and memory for it and for a line of the blur.
    private func layOut(width: Int, height: Int) -> (
        source: UnsafeMutablePointer<Float>, line: UnsafeMutablePointer<Float>
    ) {
        var sizes: [(width: Int, height: Int)] = []
        var size = (width: width, height: height)
        while sizes.isEmpty || sizes.count < Self.mostOctaves && min(size.width, size.height) >= Self.shortestSide {
            sizes.append(size)
            size = (size.width / 2, size.height / 2)
        }
        func count(_ size: (width: Int, height: Int)) -> Int { Self.stride(width: size.width) * (size.height + 1) }
        let planes = Self.scalesPerOctave + 3
        let lineCount = Self.stride(width: width) + 2 * Int(LK_LARGEST_BLUR_RADIUS)
        reserve(sizes.reduce(lineCount) { $0 + planes * count($1) })
        guard var next = memory.baseAddress else { preconditionFailure("memory was reserved") }
        func take(_ count: Int) -> UnsafeMutablePointer<Float> {
            defer { next += (count + 15) / 16 * 16 }
            return next
        }
        octaves = sizes.map { size in
            Octave(
                width: size.width, height: size.height, stride: Self.stride(width: size.width),
                gaussians: (0..<planes).map { _ in take(count(size)) })
        }
        // The first Gaussian is further down the image than the last, by more rows than it needs of the image.
        return (octaves[0].gaussians[planes - 1], take(lineCount))
    }

    private func reserve(_ count: Int) {
        // Each plane starts at a multiple of 16 floats.
        let count = count + 16 * 64
        guard memory.count < count else { return }
        memory.baseAddress.map { UnsafeMutableRawPointer($0).deallocate() }
        let byteCount = count * MemoryLayout<Float>.stride
        let bytes = UnsafeMutableRawPointer.allocate(
            byteCount: byteCount, alignment: byteCount >= Self.hugePage ? Self.hugePage : 64)
        #if os(Linux)
        // With pages of 4 KiB, a program's first image spends much of its time in page faults. Failing to get huge
        // ones is harmless.
        if byteCount >= Self.hugePage { madvise(bytes, byteCount, Int32(MADV_HUGEPAGE)) }
        #endif
        memory = .init(start: bytes.bindMemory(to: Float.self, capacity: count), count: count)
        memory.initialize(repeating: 0)
    }
}

/// The weights of a Gaussian, from its center outwards; together with their mirror image they sum to 1.
private struct GaussianKernel {
    let taps: [Float]
    /// Pixels from a weight to the next.
    let spacing: Int

    var radius: Int { taps.count - 1 }
    /// The distance of the last weight, in pixels.
    var reach: Int { radius * spacing }

    /// Cut off at 3.5 standard deviations, which leaves out 0.05 % of the weight.
    ///
    /// - Parameter blurred: the standard deviation that the image has been blurred with. Frequencies that a kernel with
    ///   gaps would take for low ones are gone from it: at most 0.07 % of one is left where the gaps are no wider.
    init(sigma: Float, blurred: Float = 1) {
        let spacing = max(1, Int(blurred))
        self.spacing = spacing
        let radius = min(
            Int((3.5 * sigma / Float(spacing)).rounded(.up)), Int(LK_LARGEST_BLUR_RADIUS) / spacing)
        let weights = (0...radius).map { exp(-Float($0 * $0 * spacing * spacing) / (2 * sigma * sigma)) }
        let sum = 2 * weights.reduce(0, +) - weights[0]
        taps = weights.map { $0 / sum }
    }
}
