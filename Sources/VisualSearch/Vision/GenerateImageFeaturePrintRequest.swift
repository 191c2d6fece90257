import DefaultModel
import FeaturePrints
import Imaging

/// Vision's name for a `FeaturePrint`: `distance(to:)` is the same, and so is what it means, but
/// its scale is that of the model and not that of Apple's.
public typealias FeaturePrintObservation = FeaturePrint

/// Vision's request for the feature print of an image, on the engine's model.
public struct GenerateImageFeaturePrintRequest: Sendable {
    private let model: FeaturePrintModel?

    /// - Parameter model: the default model without it.
    public init(model: FeaturePrintModel? = nil) { self.model = model }

    /// - Throws: `ModelError`, and `CancellationError` when the task is cancelled before it begins.
    public func perform(on image: PixelBuffer) async throws -> FeaturePrintObservation {
        try Task.checkCancellation()
        return try (model ?? .default()).featurePrint(for: image)
    }
}
