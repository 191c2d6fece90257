import CKernels
import Compute

extension NetworkGraph {
    /// Normalization to the mean 0 and the variance 1, then scaling.
    public struct Normalization: RunnableOperation {
        /// What is normalized together.
        public enum Scope: Sendable, Equatable {
            /// The elements of the axes from this one on; weight and bias have their shape.
            case axes(from: Int)
            /// The channels of each pixel of a map; weight and bias have one element per channel.
            case channels
            /// The pixels of each of so many groups of channels; weight and bias have one element per channel.
            case groups(Int)
        }

        /// What is normalized together.
        public var scope: Scope
        /// Added to the variance.
        public var epsilon: Float
        /// The tensor that the normalized values are multiplied with.
        public var weight: String
        /// The tensor that is then added.
        public var bias: String

        /// A normalization; it is checked when a network is built from the graph.
        public init(_ scope: Scope, epsilon: Float, weight: String, bias: String) {
            (self.scope, self.epsilon, self.weight, self.bias) = (scope, epsilon, weight, bias)
        }

        enum CodingKeys: String, CodingKey, CaseIterable { case scope, axis, groups, epsilon, weight, bias }
        private enum ScopeName: String, Codable { case axes, channels, groups }

        public init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            switch try values.decode(ScopeName.self, forKey: .scope) {
            case .axes: scope = .axes(from: try values.decode(Int.self, forKey: .axis))
            case .channels: scope = .channels
            case .groups: scope = .groups(try values.decode(Int.self, forKey: .groups))
            }
            epsilon = try values.decode(Float.self, forKey: .epsilon)
            weight = try values.decode(String.self, forKey: .weight)
            bias = try values.decode(String.self, forKey: .bias)
        }

        public func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            switch scope {
            case .axes(let axis):
                try values.encode(ScopeName.axes, forKey: .scope)
                try values.encode(axis, forKey: .axis)
            case .channels: try values.encode(ScopeName.channels, forKey: .scope)
            case .groups(let groups):
                try values.encode(ScopeName.groups, forKey: .scope)
                try values.encode(groups, forKey: .groups)
            }
            try values.encode(epsilon, forKey: .epsilon)
            try values.encode(weight, forKey: .weight)
            try values.encode(bias, forKey: .bias)
        }

        static let names = ["normalize"]
        var tensorNames: [String] { [weight, bias] }
        func kind(of input: TensorKind) -> TensorKind { input == .map ? .map : .other }
        func weightCount(in file: SafeTensorsFile) -> Int {
            TensorShape.padded(file.elementCount(of: weight)) + TensorShape.padded(file.elementCount(of: bias))
        }

        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try NormalizationLayer(self, description)
        }
    }
}

/// Normalization to the mean 0 and the variance 1, then scaling.
///
/// Ba, Kiros, Hinton: "Layer Normalization" (2016); Wu, He: "Group Normalization" (ECCV 2018).
private struct NormalizationLayer: Layer {
    /// How the elements of a tensor are normalized.
    private enum Method: Sendable {
        /// Rows of an array, of so many elements.
        case rows(Int)
        /// The channels of each pixel of a map.
        case channels
        /// Groups of so many channels of a map.
        case mapGroups(Int)
        /// Groups of an array's second axis: channels per group, and elements per channel.
        case arrayGroups(channels: Int, elements: Int)
    }

    let outputShape: TensorShape
    private let method: Method
    private let epsilon: Double
    private let weights: AlignedFloats
    private let bias: AlignedFloats

    init(_ normalization: NetworkGraph.Normalization, _ description: LayerDescription) throws(ModelError.Reason) {
        let input = description.input
        try description.checkIsNoImage()
        guard normalization.epsilon >= 0, normalization.epsilon.isFinite else {
            throw description.problem("has epsilon \(normalization.epsilon)")
        }
        epsilon = Double(normalization.epsilon)
        outputShape = input
        let extents = input.extents
        let shape: [Int]
        switch (normalization.scope, input) {
        case (.axes(let axis), .vector), (.axes(let axis), .array):
            let axis = try description.checkedAxis(axis, of: extents)
            shape = Array(extents[axis...])
            method = .rows(shape.reduce(1, *))
        case (.channels, .map(let channels, _, _)):
            shape = [channels]
            method = .channels
        case (.groups(let groups), _) where extents.count >= 2 && extents[0] == 1:
            guard groups > 0, extents[1] % groups == 0 else {
                throw description.problem("has \(groups) groups of \(extents[1]) channels")
            }
            shape = [extents[1]]
            let channels = extents[1] / groups
            method =
                input.isRowMajor
                ? .arrayGroups(channels: channels, elements: extents[2...].reduce(1, *)) : .mapGroups(channels)
        default: throw description.problem("cannot normalize \(input.description) in this way")
        }
        let count = TensorShape.padded(shape.reduce(1, *))
        weights = AlignedFloats(padding: try description.file.floats(normalization.weight, shape: shape), to: count)
        bias = AlignedFloats(padding: try description.file.floats(normalization.bias, shape: shape), to: count)
    }

    var parameterCount: Int { 2 * weights.count }
    /// The mean, the variance and the result each read the input.
    var operationCount: Int { TensorShape.operationCount(ofElements: 4 * outputShape.elementCount) }
    var summary: String { "normalization" }

    var parts: Int {
        switch method {
        case .rows(let count): outputShape.elementCount / count
        case .channels: outputShape.height
        case .mapGroups(let channels), .arrayGroups(let channels, _): outputShape.extents[1] / channels
        }
    }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        for image in 0..<pass.batch {
            for part in parts {
                switch method {
                case .rows(let count):
                    let start = part * count
                    pass.kernels.table.normalize_line(
                        pass.input.floats(image) + start, count, Float(epsilon), weights.pointer, bias.pointer,
                        pass.output.floats(image) + start)
                case .channels: normalizeChannels(part, image, pass)
                case .arrayGroups(let channels, let elements):
                    let start = part * channels * elements
                    normalize(
                        pass.input.floats(image) + start, pass.output.floats(image) + start,
                        channels * elements, elements, weights: weights.pointer + part * channels,
                        bias: bias.pointer + part * channels)
                case .mapGroups(let channels): normalizeGroup(part, channels, image, pass)
                }
            }
        }
    }

    /// - Parameter elements: how many share a weight.
    private func normalize(
        _ from: UnsafePointer<Float>, _ to: UnsafeMutablePointer<Float>, _ count: Int, _ elements: Int,
        weights: UnsafePointer<Float>, bias: UnsafePointer<Float>
    ) {
        var sum: Float = 0
        var lanes = SIMD16<Float>(repeating: 0)
        let whole = count / 16 * 16
        for index in stride(from: 0, to: whole, by: 16) { lanes += load(from + index) }
        for index in whole..<count { sum += from[index] }
        let mean = (sum + lanes.sum()) / Float(count)
        var squares: Float = 0
        lanes = SIMD16<Float>(repeating: 0)
        for index in stride(from: 0, to: whole, by: 16) {
            let difference = load(from + index) - mean
            lanes += difference * difference
        }
        for index in whole..<count { squares += (from[index] - mean) * (from[index] - mean) }
        let factor = scale(squares: squares + lanes.sum(), count)
        for channel in 0..<(count / elements) {
            let (weight, shift) = (weights[channel] * factor, bias[channel])
            for index in (channel * elements)..<((channel + 1) * elements) {
                to[index] = (from[index] - mean) * weight + shift
            }
        }
    }

    /// A row of pixels of a map, each over its channels.
    private func normalizeChannels(_ row: Int, _ image: Int, _ pass: LayerPass) {
        let (input, output) = (pass.input.layout, pass.output.layout)
        let block = TensorShape.channelBlock
        let source = pass.input.floats(image) + input.origin + row * input.rowStride
        let target = pass.output.floats(image) + output.origin + row * output.rowStride
        let channels = outputShape.channels
        let last = input.blocks - 1
        // The gaps of the last block hold anything.
        var mask = SIMDMask<SIMD16<Float.SIMDMaskScalar>>(repeating: false)
        for lane in 0..<(channels - last * block) { mask[lane] = true }
        for pixel in 0..<outputShape.width {
            let from = source + pixel * block
            var sum = SIMD16<Float>(repeating: 0)
            for index in 0..<last { sum += load(from + index * input.blockStride) }
            sum += SIMD16<Float>(repeating: 0).replacing(with: load(from + last * input.blockStride), where: mask)
            let mean = sum.sum() / Float(channels)
            var squares = SIMD16<Float>(repeating: 0)
            for index in 0...last {
                var difference = load(from + index * input.blockStride) - mean
                if index == last { difference.replace(with: 0, where: .!mask) }
                squares += difference * difference
            }
            let factor = scale(squares: squares.sum(), channels)
            let to = target + pixel * block
            for index in 0...last {
                let value = (load(from + index * input.blockStride) - mean) * factor
                store(
                    value * load(weights.pointer + index * block) + load(bias.pointer + index * block),
                    to + index * output.blockStride)
            }
        }
    }

    /// Some channels of a map over all pixels.
    private func normalizeGroup(_ group: Int, _ channels: Int, _ image: Int, _ pass: LayerPass) {
        let (input, output) = (pass.input.layout, pass.output.layout)
        let block = TensorShape.channelBlock
        let source = pass.input.floats(image) + input.origin
        let target = pass.output.floats(image) + output.origin
        func forEachRow(
            _ body: (_ channel: Int, _ from: UnsafePointer<Float>, _ to: UnsafeMutablePointer<Float>) -> Void
        ) {
            for channel in (group * channels)..<((group + 1) * channels) {
                for row in 0..<outputShape.height {
                    let (from, to) = (channel / block * input.blockStride, channel / block * output.blockStride)
                    body(
                        channel, source + from + row * input.rowStride + channel % block,
                        target + to + row * output.rowStride + channel % block)
                }
            }
        }
        let width = outputShape.width
        let count = channels * width * outputShape.height
        var sum = 0.0
        forEachRow { _, from, _ in for column in 0..<width { sum += Double(from[column * block]) } }
        let mean = Float(sum / Double(count))
        var squares = 0.0
        forEachRow { _, from, _ in
            for column in 0..<width {
                let difference = Double(from[column * block] - mean)
                squares += difference * difference
            }
        }
        let factor = scale(squares: Float(squares), count)
        forEachRow { channel, from, to in
            let (weight, shift) = (weights.pointer[channel] * factor, bias.pointer[channel])
            for column in 0..<width { to[column * block] = (from[column * block] - mean) * weight + shift }
        }
    }

    private func scale(squares: Float, _ count: Int) -> Float {
        Float(1 / (Double(squares) / Double(count) + epsilon).squareRoot())
    }

    @inline(__always)
    private func load(_ pointer: UnsafePointer<Float>) -> SIMD16<Float> {
        UnsafeRawPointer(pointer).loadUnaligned(as: SIMD16<Float>.self)
    }

    @inline(__always)
    private func store(_ value: SIMD16<Float>, _ pointer: UnsafeMutablePointer<Float>) {
        UnsafeMutableRawPointer(pointer).storeBytes(of: value, as: SIMD16<Float>.self)
    }
}
