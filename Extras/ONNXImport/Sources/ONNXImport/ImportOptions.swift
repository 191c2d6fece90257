#if ONNXImport
/// What an ONNX file does not say about a network.
public struct ImportOptions: Sendable {
    /// The name of the model, for display.
    public var name: String
    /// The side of the input in pixels, for a network that takes any size; nil for the file's.
    public var inputSize: Int?
    /// Per channel, subtracted from the image's red, green and blue in 0…1. Nil for ImageNet's, or for what a network
    /// needs that normalizes the image itself.
    public var mean: [Float]?
    /// Per channel, what the difference is divided by; nil as for the mean.
    public var std: [Float]?
    /// The name of the tensor that becomes the print; nil for the graph's only output.
    public var tensor: String?
    /// Whether the print is divided by its length. Distances are meaningful for unit vectors alone.
    public var normalizesPrint = true
    /// Initializers that are computed with as if they depended on the image. Tests of single operators need this.
    public var variables: Set<String> = []

    /// The mean of ImageNet's images, which most networks are trained with.
    public static let imageNetMean: [Float] = [0.485, 0.456, 0.406]
    /// The deviation of ImageNet's images, which most networks are trained with.
    public static let imageNetStd: [Float] = [0.229, 0.224, 0.225]

    /// Options; what is nil is found in the file, or assumed.
    public init(
        name: String, inputSize: Int? = nil, mean: [Float]? = nil, std: [Float]? = nil,
        tensor: String? = nil
    ) {
        self.name = name
        self.inputSize = inputSize
        self.mean = mean
        self.std = std
        self.tensor = tensor
    }
}
#endif
