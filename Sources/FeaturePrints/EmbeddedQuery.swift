/// A query image, embedded: a print per crop, and the distance up to which an entity matches it.
public struct EmbeddedQuery: Sendable {
    /// The crops in the order in which they were embedded.
    public let crops: [CropPrint]
    /// The model of the prints.
    public let model: FeaturePrintModel

    init(crops: [CropPrint], model: FeaturePrintModel) {
        self.crops = crops
        self.model = model
    }

    /// The prints of the crops. An entity's distance is its minimum distance over them.
    public var prints: [FeaturePrint] { crops.map(\.print) }

    /// The match threshold for this query, 0...2; nil for a model without one.
    ///
    /// Computed on each access; see ``FeaturePrintModel/matchThreshold(for:)`` for what it costs.
    public var matchThreshold: Double? { model.matchThreshold(for: prints) }
}
