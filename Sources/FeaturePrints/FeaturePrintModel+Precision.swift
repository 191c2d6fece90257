extension FeaturePrintModel {
    /// The number format that a network is computed in.
    public enum Precision: String, Sendable, CaseIterable {
        /// 32-bit floats.
        case float32
        /// int8 between convolutions, with 32-bit integer sums; input and output are float32.
        ///
        /// int8 and float32 prints differ slightly (the model card has the figures) and can be compared with each
        /// other. The results are identical on every CPU except for the first layer and the pooling. Needs a file
        /// with activation ranges.
        case int8
    }
}
