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
        /// Multiply-adds for one image.
        public let multiplyAdds: Int
    }

    /// The layers in the order in which they run.
    public let rows: [Row]
    /// A bound of the work for one image in terms of multiply-adds, also for layers that have none, such as pooling.
    public let operationCount: Int
    /// Weights and biases of all layers.
    public var parameters: Int { rows.reduce(0) { $0 + $1.parameters } }
    /// Multiply-adds of all layers for one image.
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
                    name: $0.name, kind: $0.layer.summary, output: $0.layer.outputShape.description,
                    parameters: $0.layer.parameterCount, multiplyAdds: $0.layer.multiplyAdds)
            },
            operationCount: operationCount)
    }
}
