import FeaturePrints
import Imaging

#if DefaultModel
    import DefaultModel
#endif

/// Vision's name for a `FeaturePrint`: `distance(to:)` is the same, and so is what it means, but
/// its scale is that of the model and not that of Apple's.
public typealias FeaturePrintObservation = FeaturePrint

/// Vision's request for the feature print of an image, on the engine's model.
public struct GenerateImageFeaturePrintRequest: Sendable {
    private let model: FeaturePrintModel?

    public init(model: FeaturePrintModel) { self.model = model }

    #if DefaultModel
        /// A request with the default model, which is loaded when the request is first performed.
        public init() { model = nil }
    #endif

    private func resolvedModel() throws -> FeaturePrintModel {
        if let model { return model }
        #if DefaultModel
            return try .default()
        #else
            preconditionFailure("a request is made with a model")
        #endif
    }

    /// - Throws: `ModelError`, and `CancellationError` when the task is cancelled before it begins.
    public func perform(on image: PixelBuffer) async throws -> FeaturePrintObservation {
        try Task.checkCancellation()
        return try resolvedModel().featurePrint(for: image)
    }
}
