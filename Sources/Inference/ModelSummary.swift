/// The layers of a model with their costs.
public struct ModelSummary: Sendable {
    /// A layer.
    public struct Row: Sendable {
        /// The name of the node in the graph.
        public let name: String
        /// The operation, with kernel and stride.
        public let kind: String
        /// Channels × height × width, or a dimension.
        public let output: String
        /// Weights and biases.
        public let parameters: Int
        /// For one image.
        public let multiplyAdds: Int
    }

    /// The layers in the order in which they run.
    public let rows: [Row]
    /// A bound of the work for one image, in multiply-adds, with that of layers that have none, such as pooling.
    public let operationCount: Int
    /// The sum of all layers.
    public var parameters: Int { rows.reduce(0) { $0 + $1.parameters } }
    /// The sum of all layers, for one image.
    public var multiplyAdds: Int {
        rows.reduce(0) { total, row in
            let (sum, isTooLarge) = total.addingReportingOverflow(row.multiplyAdds)
            return isTooLarge ? .max : sum
        }
    }
}

extension Network {
    package var summary: ModelSummary {
        ModelSummary(
            rows: layers.map {
                ModelSummary.Row(
                    name: $0.name, kind: $0.summary, output: $0.outputShape.description,
                    parameters: $0.parameterCount, multiplyAdds: $0.multiplyAdds)
            },
            operationCount: operationCount)
    }
}
