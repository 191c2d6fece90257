extension FeaturePrintModel {
    /// The number format that a network is computed in.
    public enum Precision: String, Sendable, CaseIterable {
        /// 32-bit floats.
        case float32
        /// int8 weights and int8 maps between layers, with 32-bit integer sums; prints are float32.
        ///
        /// int8 and float32 prints differ slightly (the model card has the figures) and can be compared with each
        /// other. Depthwise convolutions, pooling and activations other than ReLU compute in float32 between int8 maps.
        /// Needs a file with activation ranges.
        case int8
    }
}
