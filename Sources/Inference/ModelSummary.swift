/// The layers of a model with their costs.
public struct ModelSummary: Sendable {
    public struct Row: Sendable {
        public let name: String
        public let kind: String
        /// Channels × height × width, or a dimension.
        public let output: String
        public let parameters: Int
        /// For one image.
        public let multiplyAdds: Int
    }

    public let rows: [Row]
    public var parameters: Int { rows.reduce(0) { $0 + $1.parameters } }
    public var multiplyAdds: Int { rows.reduce(0) { $0 + $1.multiplyAdds } }
}

extension Network {
    package var summary: ModelSummary {
        ModelSummary(
            rows: layers.map {
                ModelSummary.Row(
                    name: $0.name, kind: $0.summary, output: $0.outputShape.description,
                    parameters: $0.parameterCount, multiplyAdds: $0.multiplyAdds)
            })
    }
}
