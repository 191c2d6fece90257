import Compute
import FeaturePrints
import Imaging

#if DefaultModel
import DefaultModel
#endif

/// Vision's name for a `FeaturePrint`. `distance(to:)` means the same, on the scale of Lookalike's model.
public typealias FeaturePrintObservation = FeaturePrint

/// Vision's request for the feature print of an image, with a model of this package.
public struct GenerateImageFeaturePrintRequest: Sendable {
    private let model: @Sendable () throws -> FeaturePrintModel

    /// A request with a model of your own.
    public init(model: FeaturePrintModel) { self.model = { model } }

    #if DefaultModel
    /// A request with the default model, which is loaded when the request is first performed.
    public init() { model = { try .default() } }
    #endif

    /// The feature print of an image.
    ///
    /// - Throws: `ModelError`, and `CancellationError` when the task is cancelled before it begins.
    public func perform(on image: PixelBuffer) async throws -> FeaturePrintObservation {
        try Task.checkCancellation()
        return try await ComputeExecutor.shared.compute { _ in try model().featurePrint(for: image) }
    }
}
