#if ONNXImport
public import Inference
import Lookalike

/// What an ONNX file does not say about a network.
public struct ImportOptions: Sendable {
    /// The name of the model, for display.
    public var name: String
    /// The side of the input in pixels, for a network that takes any size; nil for the file's.
    public var inputSize: Int?
    /// Per channel, subtracted from the image's red, green and blue in 0…1. Nil for what a file beside the network
    /// says, for ImageNet's, or for what a network needs that normalizes the image itself.
    public var mean: [Float]?
    /// Per channel, what the difference is divided by; nil as for the mean.
    public var std: [Float]?
    /// How images are resized. Nil for what `preprocessor_config.json` or `open_clip_config.json` beside the network
    /// says, or for ``Resize/stretch``.
    public var resize: Resize?
    /// The filter that resizes images; nil as for ``resize``, or for bilinear.
    public var filter: NetworkGraph.Input.Filter?
    /// The name of the tensor that becomes the print; nil for the graph's only output.
    public var tensor: String?
    /// Whether the print is divided by its length. Distances are meaningful for unit vectors alone.
    public var normalizesPrint = true
    /// Initializers that are computed with as if they depended on the image. Tests of single operators need this.
    public var variables: Set<String> = []

    /// How an image of another shape becomes the network's input.
    public enum Resize: Sendable, Hashable {
        /// It is stretched.
        case stretch
        /// Its shorter side is resized to so many pixels, nil for the side of the input, and its center is taken.
        case shortest(Int?)
    }

    /// The mean of ImageNet's images, which most networks are trained with.
    public static let imageNetMean: [Float] = [0.485, 0.456, 0.406]
    /// The deviation of ImageNet's images, which most networks are trained with.
    public static let imageNetStd: [Float] = [0.229, 0.224, 0.225]

    /// Options; what is nil is found in the file, or assumed.
    public init(
        name: String, inputSize: Int? = nil, mean: [Float]? = nil, std: [Float]? = nil, resize: Resize? = nil,
        filter: NetworkGraph.Input.Filter? = nil, tensor: String? = nil
    ) {
        self.name = name
        self.inputSize = inputSize
        self.mean = mean
        self.std = std
        self.resize = resize
        self.filter = filter
        self.tensor = tensor
    }
}
#endif
