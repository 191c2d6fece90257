import CKernels
import Compute

extension NetworkGraph {
    /// A convolution. The residual is added before the activation.
    public struct Convolution: RunnableOperation {
        /// The tensor of the weights: [outputs][inputs / groups][kernel height][kernel width].
        public var weight: String
        /// The tensor of the biases: [outputs].
        public var bias: String
        /// The number of output channels.
        public var outputs: Int
        /// The size of the kernel.
        public var kernel: Extent
        /// The steps between outputs.
        public var stride: Extent
        /// The zeros added around the map.
        public var padding: Padding
        /// The steps between taps.
        public var dilation: Extent
        /// The number of groups of channels; a group's outputs depend on the group's inputs alone.
        public var groups: Int
        /// Whether negative outputs become 0.
        public var relu: Bool
        /// The node whose output is added.
        public var residual: String?
        /// Applied to the result; not beside `relu`.
        public var activation: Activation?

        /// A convolution; it is checked when a network is built from the graph.
        public init(
            weight: String, bias: String, outputs: Int, kernel: Extent, stride: Extent, padding: Padding,
            dilation: Extent = 1, groups: Int = 1, relu: Bool = false, residual: String? = nil,
            activation: Activation? = nil
        ) {
            (self.weight, self.bias, self.outputs, self.kernel, self.stride) = (weight, bias, outputs, kernel, stride)
            (self.padding, self.dilation, self.groups, self.relu) = (padding, dilation, groups, relu)
            (self.residual, self.activation) = (residual, activation)
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case weight, bias, outputs, kernel, stride, padding, dilation, groups, relu, residual, activation
        }

        public init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            weight = try values.decode(String.self, forKey: .weight)
            bias = try values.decode(String.self, forKey: .bias)
            outputs = try values.decode(Int.self, forKey: .outputs)
            kernel = try values.decode(Extent.self, forKey: .kernel)
            stride = try values.decode(Extent.self, forKey: .stride)
            padding = try values.decode(Padding.self, forKey: .padding)
            dilation = try values.decodeIfPresent(Extent.self, forKey: .dilation) ?? 1
            groups = try values.decodeIfPresent(Int.self, forKey: .groups) ?? 1
            relu = try values.decodeIfPresent(Bool.self, forKey: .relu) ?? false
            residual = try values.decodeIfPresent(String.self, forKey: .residual)
            if values.contains(.activation) {
                let inner = try values.superDecoder(forKey: .activation)
                try NetworkGraph.refuseOthers(than: Activation.keys, in: inner, of: "the activation")
                activation = try Activation(from: inner)
            }
        }

        public func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(weight, forKey: .weight)
            try values.encode(bias, forKey: .bias)
            try values.encode(outputs, forKey: .outputs)
            try values.encode(kernel, forKey: .kernel)
            try values.encode(stride, forKey: .stride)
            try values.encode(padding, forKey: .padding)
            if dilation != 1 { try values.encode(dilation, forKey: .dilation) }
            if groups != 1 { try values.encode(groups, forKey: .groups) }
            try values.encode(relu, forKey: .relu)
            try values.encodeIfPresent(residual, forKey: .residual)
            try values.encodeIfPresent(activation, forKey: .activation)
        }

        static let names = ["convolution"]

        var otherInputs: [String] { residual.map { [$0] } ?? [] }
        var tensorNames: [String] { [weight, bias] }
        func kind(of input: TensorKind) -> TensorKind { .map }

        var int8: Int8Rules {
            // Weights are packed in blocks of at most so many taps. Nothing of the graph has been checked yet.
            let taps = 1...Int(LK_MOST_TAPS)
            let largest = isBoundedReLU && !relu ? activation?.beta : nil
            return Int8Rules(
                readsCodes: taps.contains(kernel.height) && taps.contains(kernel.width)
                    && taps.contains(kernel.height * kernel.width),
                // An activation is applied to a copy of the result, which a residual does not lie beside.
                writesCodes: residual == nil || appliedActivation == nil,
                quantizesImage: groups == 1 && ImageConvolution.isPossible(for: self),
                outputs: (relu || largest != nil ? 0 : -.infinity)...(largest ?? .infinity))
        }

        /// The activation, unless clamping to the range of the codes is the same.
        fileprivate var appliedActivation: Activation? { isBoundedReLU ? nil : activation }

        /// ReLU6 and the like, whose largest value is the upper bound of the codes' range.
        fileprivate var isBoundedReLU: Bool {
            activation.map { $0.kind == .clamp && $0.alpha == 0 && $0.beta > 0 } ?? false
        }

        /// Packed weights have whole blocks of channels, zeros between groups (``GroupSpan``) and, for Winograd's
        /// method, 36 elements for each nine.
        func weightCount(in file: SafeTensorsFile) -> Int {
            guard let shape = file.shape(of: weight), shape.count == 4, shape.allSatisfy({ $0 > 0 }), groups > 0 else {
                return 0
            }
            let (outputs, inputs, taps) = (shape[0], shape[1], shape[2] * shape[3])
            let channels = GroupSpan.mostChannels(
                groups: groups, inputsPerGroup: inputs, outputsPerGroup: max(1, outputs / groups))
            let mayBeWinograd = groups == 1 && kernel == 3 && stride == 1
            return TensorShape.padded(outputs) * (channels * taps * (mayBeWinograd ? 4 : 1) + Self.besidesWeights)
        }

        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try ConvolutionLayer(self, description)
        }
    }
}

/// A convolution with its bias.
///
/// The method adds a residual and applies ReLU as it stores the result. The layer applies another activation to each
/// part of the result while a cache still holds it. If the output is int8 and the method does not write codes itself,
/// the layer quantizes each part in the same way.
private struct ConvolutionLayer: Layer {
    let outputShape: TensorShape
    let padding: Int
    private let geometry: ConvolutionGeometry
    private let method: any ConvolutionMethod
    private let activation: NetworkGraph.Activation?
    private let staging: StagedOutput?
    private let residual: String?

    init(_ convolution: NetworkGraph.Convolution, _ description: LayerDescription) throws(ModelError.Reason) {
        let input = description.input
        if input.isRowMajor {
            let kind = if case .vector = input { "a vector" } else { "an array, \(input.description)" }
            throw description.problem("is a convolution, but its input is \(kind)")
        }
        let outputs = try description.checked(convolution.outputs, "outputs", in: 1...65_536)
        let groups = try description.checked(convolution.groups, "groups", in: 1...65_536)
        guard input.channels % groups == 0, outputs % groups == 0 else {
            throw description.problem("has \(groups) groups for \(input.channels) inputs and \(outputs) outputs")
        }
        if case .image = input, groups > 1 { throw description.problem("has groups, but reads the image") }
        guard !convolution.relu || convolution.activation == nil else {
            throw description.problem("has ReLU and another activation")
        }
        let window = try WindowGeometry(
            kernel: convolution.kernel, stride: convolution.stride, padding: convolution.padding,
            dilation: convolution.dilation, description)
        padding = convolution.padding.all.max() ?? 0
        residual = convolution.residual
        outputShape = .map(channels: outputs, width: window.outputs.width, height: window.outputs.height)
        if let residual = description.others.first, residual != outputShape {
            throw description.problem("adds \(residual.description) to its \(outputShape.description)")
        }
        let codes = description.quantization
        // The largest code then stands for the upper bound of ReLU6.
        let relu = convolution.relu || codes?.output != nil && convolution.isBoundedReLU
        activation = codes?.output == nil ? convolution.activation : convolution.appliedActivation
        let isDepthwise = groups > 1 && groups == input.channels && groups == outputs && convolution.residual == nil
        var readsImage = false
        if case .image = input { readsImage = codes?.output != nil && ImageConvolution.isPossible(for: convolution) }
        let writesCodes =
            activation == nil && !isDepthwise && (readsImage || codes?.input != nil || groups == 1 && relu)
        let isStaged = codes?.output != nil && !writesCodes
        geometry = ConvolutionGeometry(
            inputChannels: input.channels, outputs: outputs, width: window.outputs.width,
            height: window.outputs.height, kernel: convolution.kernel, stride: convolution.stride,
            padding: convolution.padding, dilation: convolution.dilation, groups: groups, relu: relu, isStaged: isStaged
        )
        let (products, most) = (geometry.inputsPerGroup * geometry.taps, QuantizedWeights.mostProducts)
        guard codes?.input == nil || products <= most else {
            throw description.problem(
                "sums \(products) products for each output, of which int8 allows \(most): give “\(description.node.input)” the "
                    + "range null, or load the model in float32")
        }
        let weights = try description.file.numbers(
            convolution.weight,
            shape: [outputs, input.channels / groups, convolution.kernel.height, convolution.kernel.width])
        let bias = try description.file.floats(convolution.bias, shape: [outputs])
        let written = isStaged ? nil : codes?.output
        method =
            if isDepthwise {
                DepthwiseConvolution(geometry, weights: weights.floats, bias: bias, hasInt8Input: codes?.input != nil)
            } else if let parameters = codes?.input {
                QuantizedConvolution(
                    geometry, weights: weights, bias: bias, input: parameters, residual: codes?.residual,
                    output: written)
            } else if readsImage, let codes {
                ImageConvolution(
                    geometry, weights: weights.floats, bias: bias, image: codes.image, residual: codes.residual,
                    output: written)
            } else if groups > 1 {
                GroupedConvolution(geometry, weights: weights.floats, bias: bias)
            } else if codes?.output == nil, WinogradConvolution.isFaster(for: geometry) {
                WinogradConvolution(geometry, weights: weights, bias: bias)
            } else {
                DirectConvolution(geometry, weights: weights, bias: bias, output: written)
            }
        if isStaged, let parameters = codes?.output {
            staging = StagedOutput(parameters, activation: activation, width: window.outputs.width)
        } else {
            staging = nil
        }
    }

    var parameterCount: Int { geometry.outputs * (geometry.inputsPerGroup * geometry.taps + 1) }

    var multiplyAdds: Int {
        geometry.outputs * geometry.width * geometry.height * geometry.inputsPerGroup * geometry.taps
    }

    /// Weights that whole blocks of channels have in vain are multiplied, too. What a method writes to its scratch
    /// memory may outweigh the products: rows of the input between the taps of a dilated kernel, for example.
    var operationCount: Int {
        let inputs =
            method is DepthwiseConvolution
            ? 1
            : GroupSpan.mostChannels(
                groups: geometry.groups, inputsPerGroup: geometry.inputsPerGroup,
                outputsPerGroup: geometry.outputsPerGroup)
        let outputs = geometry.outputBlocks * TensorShape.channelBlock * geometry.width * geometry.height
        return outputs * inputs * geometry.taps + parts * scratchCount
            + TensorShape.operationCount(ofElements: outputShape.elementCount)
    }

    var summary: String {
        (geometry.isDepthwise ? "depthwise convolution " : "convolution ") + geometry.kernel.description
            + (geometry.stride == 1
                ? ""
                : geometry.stride.height == geometry.stride.width
                    ? ", stride \(geometry.stride.height)" : ", stride \(geometry.stride.description)")
            + (geometry.dilation == 1 ? "" : ", dilation \(geometry.dilation.description)")
            + (geometry.groups == 1 || geometry.isDepthwise ? "" : ", \(geometry.groups) groups")
            + (residual.map { ", + \($0)" } ?? "") + (geometry.relu ? ", ReLU" : "")
            + (activation.map { ", \($0.kind.rawValue)" } ?? "") + method.summary
    }

    var parts: Int { method.parts }
    var scratchCount: Int { method.scratchCount + (staging == nil ? 0 : BlockParts(geometry).largestCount) }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        for part in parts {
            for image in 0..<pass.batch {
                let region = method.region(part)
                if let staging {
                    let memory = pass.scratch + method.scratchCount
                    let slot = staging.slot(region, shape: outputShape, memory: memory)
                    method.run(part, image: image, in: pass.writing(to: slot))
                    staging.quantize(region, in: memory, to: pass.output, image: image, kernels: pass.kernels)
                    continue
                }
                method.run(part, image: image, in: pass)
                activation?.apply(to: pass.output, region, image: image, kernels: pass.kernels)
            }
        }
    }
}
