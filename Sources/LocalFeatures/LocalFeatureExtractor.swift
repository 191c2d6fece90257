package import Compute
public import Imaging
import Synchronization

/// Detects and describes the keypoints of images.
///
/// An image is resized, its scale space is searched for extrema, and the strongest get an orientation and a descriptor.
/// The result is the same on every run and for every number of threads. An extractor may be shared between tasks.
public final class LocalFeatureExtractor: Sendable {
    /// How large an image is made, and how many keypoints it gets at most.
    public struct Detail: Sendable, Hashable {
        /// The longest side that keypoints are detected at, in pixels. Images that are less than half as large are
        /// enlarged to twice their size, others to this.
        public var longSide: Int
        /// The maximum number of keypoints per image; the strongest are kept.
        public var keypointCount: Int

        /// - Precondition: `longSide` is in 32...4096 and `keypointCount` in 1...10,000.
        public init(longSide: Int, keypointCount: Int) {
            precondition((32...4_096).contains(longSide) && (1...10_000).contains(keypointCount))
            (self.longSide, self.keypointCount) = (longSide, keypointCount)
        }

        /// For the images of a catalog: 7 KB each with dense descriptors and inverted lists.
        public static let catalog = Detail(longSide: 384, keypointCount: 200)
        /// For a query that shows one or two things.
        public static let query = Detail(longSide: 512, keypointCount: 500)
        /// For a query that shows many things, or small ones.
        public static let fineQuery = Detail(longSide: 1_024, keypointCount: 1_600)
    }

    /// The components of a raw descriptor.
    public static let descriptorLength = KeypointDescriber.length

    /// The model that projects and quantizes descriptors.
    public let model: LocalFeatureModel
    private let detector: KeypointDetector
    private let describer: KeypointDescriber
    private let simd: SIMDTarget
    private let workspaces = Mutex(Workspaces())

    /// Memory of one extraction, used by one thread at a time.
    private struct Workspace: @unchecked Sendable {
        let space: ScaleSpace
    }

    /// 60 MB per thread for large images. One is kept when no thread extracts.
    private struct Workspaces {
        private var free: [Workspace] = []
        private var usedCount = 0

        mutating func take() -> Workspace? {
            usedCount += 1
            return free.popLast()
        }

        mutating func putBack(_ workspace: Workspace) {
            usedCount -= 1
            free = usedCount == 0 ? [workspace] : free + [workspace]
        }
    }

    /// An extractor for a model, on the fastest SIMD target of the CPU.
    public convenience init(_ model: LocalFeatureModel) { self.init(model, simd: .selected) }

    package init(_ model: LocalFeatureModel, simd: SIMDTarget) {
        (self.model, self.simd) = (model, simd)
        detector = KeypointDetector(kernels: simd)
        describer = KeypointDescriber(kernels: simd)
    }

    /// Extracts what a catalog keeps of an image: keypoints and dense descriptors.
    ///
    /// O(detail.longSide² + keypoints), and a forward pass.
    public func features(of image: PixelBuffer, detail: Detail = .catalog) -> LocalFeatures {
        let image = image.overContrastingGround()
        let found = queryFeatures(of: image, detail: detail)
        let dimension = LocalFeatureModel.dimension
        let (words, codes) = found.descriptors.withUnsafeBufferPointer { descriptors in
            let words = model.vocabulary.words(of: descriptors, count: 1)
            let codes = words.enumerated().map { index, word in
                let descriptor = descriptors[(index * dimension)..<((index + 1) * dimension)]
                return model.vocabulary.code(of: UnsafeBufferPointer(rebasing: descriptor), word: word)
            }
            return (words, codes)
        }
        return LocalFeatures(
            width: found.width, height: found.height, keypoints: found.keypoints, words: words, codes: codes,
            dense: model.denseDescriptors(of: image).codes)
    }

    /// Extracts the features of a query image.
    ///
    /// O(detail.longSide² + keypoints).
    public func queryFeatures(of image: PixelBuffer, detail: Detail = .query) -> QueryFeatures {
        queryFeatures(of: image.overContrastingGround(), detail: detail, cancellation: .none)
    }

    /// - Parameter cancellation: once it is set, the result is incomplete.
    package func queryFeatures(of image: PixelBuffer, detail: Detail, cancellation: Cancellation) -> QueryFeatures {
        var descriptors: [Float] = []
        descriptors.reserveCapacity(detail.keypointCount * LocalFeatureModel.dimension)
        let (size, keypoints) = withUnsafeTemporaryAllocation(of: Float.self, capacity: LocalFeatureModel.dimension) {
            projected in
            extract(image, detail: detail, cancellation: cancellation) { raw in
                model.projection.project(raw, into: projected)
                descriptors.append(contentsOf: projected)
            }
        }
        return QueryFeatures(width: size.width, height: size.height, keypoints: keypoints, descriptors: descriptors)
    }

    /// The raw descriptors of an image, ``descriptorLength`` components each, one after another: what a vocabulary is
    /// trained on.
    public func rawDescriptors(of image: PixelBuffer, detail: Detail = .catalog) -> [Float] {
        var descriptors: [Float] = []
        _ = extract(image, detail: detail) { descriptors.append(contentsOf: $0) }
        return descriptors
    }

    /// The size that an image is resized to.
    static func workingSize(of image: PixelBuffer, detail: Detail) -> (width: Int, height: Int) {
        let side = max(image.width, image.height)
        let factor = min(Double(detail.longSide) / Double(side), 2)
        return (
            max(1, Int((Double(image.width) * factor).rounded())),
            max(1, Int((Double(image.height) * factor).rounded()))
        )
    }

    private func extract(
        _ image: PixelBuffer, detail: Detail, cancellation: Cancellation = .none,
        each: (UnsafeMutableBufferPointer<Float>) -> Void
    ) -> (size: (width: Int, height: Int), keypoints: [Keypoint]) {
        let size = Self.workingSize(of: image, detail: detail)
        let workspace = workspaces.withLock { $0.take() } ?? Workspace(space: ScaleSpace(kernels: simd))
        defer { workspaces.withLock { $0.putBack(workspace) } }
        let space = workspace.space
        var candidates: [KeypointDetector.Candidate] = []
        space.build(width: size.width, height: size.height, cancellation: cancellation) { plane, stride in
            LumaResizer(width: size.width, height: size.height, simd: simd).resize(
                image, into: UnsafeMutableBufferPointer(start: plane, count: stride * size.height), stride: stride)
        } whenBuilt: { octave, rows in
            detector.addCandidates(in: rows, ofOctave: octave, of: space, to: &candidates)
        }
        var keypoints: [Keypoint] = []
        withUnsafeTemporaryAllocation(byteCount: KeypointDescriber.length * 4, alignment: 64) { memory in
            let raw = memory.bindMemory(to: Float.self)
            if cancellation.isCancelled { return }
            for extremum in detector.extrema(candidates, of: space, limit: detail.keypointCount) {
                if cancellation.isCancelled { break }
                let octave = space.octaves[extremum.octave]
                let factor = Float(1 << extremum.octave)
                let orientations = describer.orientations(of: extremum, in: octave)
                for angle in [orientations.first, orientations.second].lazy.compactMap(\.self)
                where keypoints.count < detail.keypointCount {
                    describer.describe(extremum, angle: angle, in: octave, into: raw)
                    each(raw)
                    keypoints.append(
                        Keypoint(
                            x: extremum.x * factor, y: extremum.y * factor, scale: extremum.sigma * factor, angle: angle
                        ))
                }
                if keypoints.count == detail.keypointCount { break }
            }
        }
        return (size, keypoints)
    }
}
