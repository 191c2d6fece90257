extension NetworkGraph {
    /// What a layer computes, with its parameters. Weights and biases are names of tensors in the file.
    ///
    /// A tensor between layers has a shape whose first extent is 1, the image. Convolutions and what belongs to them
    /// compute on *maps*, [1][channels][rows][columns], which are stored in blocks of sixteen channels. Other layers
    /// give *arrays* of any shape, in row-major order, and read both. ``map`` makes a map of an array.
    public enum Operation: Sendable, Equatable {
        /// A convolution, with its residual and its activation.
        case convolution(Convolution)
        /// Pooling: the `power`th root of the mean of `power`th powers, per channel. `power` is in 1/8...8, and
        /// `epsilon` at most 8192.
        case generalizedMean(power: Float, epsilon: Float)
        /// A fully connected layer, on the last axis.
        case linear(Linear)
        /// Division by the Euclidean norm.
        case l2Normalization
        /// The corners of an object from a vote of every cell of a map.
        case cornerVotes(stride: Int)
        /// The largest value of every window of a map.
        case maximumPooling(Pooling)
        /// The mean of every window of a map.
        case averagePooling(Pooling)
        /// A function of every element.
        case activation(Activation)
        /// An operation on two tensors, element by element.
        case combination(Combination)
        /// A tensor of the file.
        case constant(Constant)
        /// A map of an array of the shape [1][channels][rows][columns], or of the image.
        case map
        /// An array of another shape or order: reshaped, transposed, sliced, or repeated.
        case rearrangement(Rearrangement)
        /// A map of some channels of maps.
        case channelSelection(ChannelSelection)
        /// Arrays joined along an axis.
        case concatenation(Concatenation)
        /// An array with elements added around it.
        case padding(ArrayPadding)
        /// Sums and the like over axes, which get the extent 1.
        case reduction(Reduction)
        /// eˣ divided by its sum along an axis.
        case softmax(axis: Int)
        /// Normalization to the mean 0 and the variance 1.
        case normalization(Normalization)
        /// The matrix product of two tensors.
        case matrixProduct(MatrixProduct)
        /// A map of another height and width.
        case resizing(Resizing)
    }

    /// A convolution. The residual is added before the activation.
    public struct Convolution: Sendable, Equatable {
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
            self.weight = weight
            self.bias = bias
            self.outputs = outputs
            self.kernel = kernel
            self.stride = stride
            self.padding = padding
            self.dilation = dilation
            self.groups = groups
            self.relu = relu
            self.residual = residual
            self.activation = activation
        }
    }

    /// `weight · x + bias` on the last axis.
    public struct Linear: Sendable, Equatable, Codable {
        /// The tensor of the weights: [outputs][inputs].
        public var weight: String
        /// The tensor of the biases: [outputs].
        public var bias: String
        /// The dimension of the output.
        public var outputs: Int

        /// A fully connected layer; it is checked when a network is built from the graph.
        public init(weight: String, bias: String, outputs: Int) {
            self.weight = weight
            self.bias = bias
            self.outputs = outputs
        }

        enum CodingKeys: String, CodingKey, CaseIterable { case weight, bias, outputs }
    }

    /// Windows of a map. What a window covers outside the map is left out.
    public struct Pooling: Sendable, Equatable, Codable {
        /// The size of the windows.
        public var kernel: Extent
        /// The steps between windows.
        public var stride: Extent
        /// Pixels around the map that windows may cover.
        public var padding: Padding
        /// The steps between the pixels of a window.
        public var dilation: Extent
        /// Of a mean: whether the padding counts as zeros.
        public var countsPadding: Bool
        /// Whether a last window counts that lies only partly on the map (ceil mode).
        public var roundsUp: Bool

        /// Windows; they are checked when a network is built from the graph.
        public init(
            kernel: Extent, stride: Extent, padding: Padding, dilation: Extent = 1, countsPadding: Bool = false,
            roundsUp: Bool = false
        ) {
            self.kernel = kernel
            self.stride = stride
            self.padding = padding
            self.dilation = dilation
            self.countsPadding = countsPadding
            self.roundsUp = roundsUp
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case kernel, stride, padding, dilation
            case countsPadding = "counts_padding"
            case roundsUp = "rounds_up"
        }
    }

    /// An operation on two tensors, element by element. Extents of 1 are repeated, and missing first axes are 1. A map
    /// is combined with a map, and an array with an array.
    public struct Combination: Sendable, Equatable, Codable {
        /// What is done with the elements.
        public enum Operator: String, Sendable, Codable, CaseIterable {
            /// Left plus right.
            case add
            /// Left minus right.
            case subtract
            /// Left times right.
            case multiply
            /// Left divided by right.
            case divide
            /// The larger.
            case maximum
            /// The smaller.
            case minimum
            /// Left to the power of right.
            case power
            /// Left; below zero, times right.
            case prelu
        }

        /// What is done with the elements.
        public var `operator`: Operator
        /// The node of the right side.
        public var other: String

        /// An operation with a right side.
        public init(_ operator: Operator, other: String) {
            self.operator = `operator`
            self.other = other
        }

        enum CodingKeys: String, CodingKey, CaseIterable { case `operator`, other }
    }

    /// A tensor of the file.
    public struct Constant: Sendable, Equatable, Codable {
        /// The name of the tensor.
        public var tensor: String
        /// Its shape.
        public var shape: [Int]

        /// A tensor with its shape.
        public init(tensor: String, shape: [Int]) {
            self.tensor = tensor
            self.shape = shape
        }

        enum CodingKeys: String, CodingKey, CaseIterable { case tensor, shape }
    }

    /// An array whose element (i, j, …) is the input's at `offset + i · strides[0] + j · strides[1] + …`, the input in
    /// row-major order.
    public struct Rearrangement: Sendable, Equatable, Codable {
        /// The shape of the output.
        public var shape: [Int]
        /// Of each axis of the output; may be zero or negative.
        public var strides: [Int]
        /// Where the first element comes from.
        public var offset: Int

        /// A shape and where its elements come from.
        public init(shape: [Int], strides: [Int], offset: Int = 0) {
            self.shape = shape
            self.strides = strides
            self.offset = offset
        }

        enum CodingKeys: String, CodingKey, CaseIterable { case shape, strides, offset }
    }

    /// A map of some channels of maps of one height and width.
    public struct ChannelSelection: Sendable, Equatable, Codable {
        /// Consecutive channels of an input.
        public struct Channels: Sendable, Equatable, Codable {
            /// 0 for the node's input, 1 for the first of the `others`.
            public var input: Int
            /// The first channel.
            public var first: Int
            /// The number of channels.
            public var count: Int

            /// Consecutive channels of an input.
            public init(input: Int, first: Int, count: Int) {
                (self.input, self.first, self.count) = (input, first, count)
            }

            public init(from decoder: any Decoder) throws {
                let value = try decoder.singleValueContainer()
                let numbers = try value.decode([Int].self)
                guard numbers.count == 3 else {
                    throw DecodingError.dataCorruptedError(
                        in: value, debugDescription: "\(numbers) is not an input, a channel and a number of channels")
                }
                (input, first, count) = (numbers[0], numbers[1], numbers[2])
            }

            public func encode(to encoder: any Encoder) throws {
                var value = encoder.singleValueContainer()
                try value.encode([input, first, count])
            }
        }

        /// The maps besides the node's input.
        public var others: [String]
        /// Which channels, in order.
        public var channels: [Channels]
        /// 1, or the number of groups whose channels are interleaved: the first of each, then the second of each.
        public var shuffledGroups: Int

        /// Some channels of maps.
        public init(others: [String], channels: [Channels], shuffledGroups: Int = 1) {
            self.others = others
            self.channels = channels
            self.shuffledGroups = shuffledGroups
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case others, channels
            case shuffledGroups = "shuffled_groups"
        }
    }

    /// Tensors joined along an axis to an array.
    public struct Concatenation: Sendable, Equatable, Codable {
        /// The nodes after the input.
        public var others: [String]
        /// The axis along which they lie, from 0.
        public var axis: Int

        /// Arrays joined along an axis.
        public init(others: [String], axis: Int) {
            self.others = others
            self.axis = axis
        }

        enum CodingKeys: String, CodingKey, CaseIterable { case others, axis }
    }

    /// Elements around an array.
    public struct ArrayPadding: Sendable, Equatable, Codable {
        /// What the elements are.
        public enum Mode: String, Sendable, Codable, CaseIterable {
            /// A value.
            case constant
            /// The nearest element of the array.
            case edge
            /// The array mirrored at its first and last element.
            case reflect
        }

        /// What the elements are.
        public var mode: Mode
        /// The value, for the mode `constant`.
        public var value: Float
        /// Elements before the array, per axis.
        public var before: [Int]
        /// Elements after the array, per axis.
        public var after: [Int]

        /// Elements around an array.
        public init(mode: Mode, value: Float = 0, before: [Int], after: [Int]) {
            self.mode = mode
            self.value = value
            self.before = before
            self.after = after
        }

        enum CodingKeys: String, CodingKey, CaseIterable { case mode, value, before, after }
    }

    /// A number for all elements along some axes.
    public struct Reduction: Sendable, Equatable, Codable {
        /// Which number.
        public enum Function: String, Sendable, Codable, CaseIterable {
            /// The mean.
            case mean
            /// The sum.
            case sum
            /// The sum of the absolute values.
            case l1
            /// The Euclidean norm.
            case l2
            /// The sum of the squares.
            case squares
            /// The largest.
            case maximum
            /// The smallest.
            case minimum
        }

        /// Which number.
        public var function: Function
        /// The axes, from 0.
        public var axes: [Int]

        /// A number for all elements along some axes.
        public init(_ function: Function, axes: [Int]) {
            self.function = function
            self.axes = axes
        }

        enum CodingKeys: String, CodingKey, CaseIterable { case function, axes }
    }

    /// Normalization to the mean 0 and the variance 1, then scaling.
    public struct Normalization: Sendable, Equatable, Codable {
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
            self.scope = scope
            self.epsilon = epsilon
            self.weight = weight
            self.bias = bias
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
    }

    /// The matrix product of two tensors: of the last two axes, for each element of the axes before them, in which
    /// extents of 1 are repeated.
    public struct MatrixProduct: Sendable, Equatable, Codable {
        /// The node of the right side.
        public var other: String

        /// A product with a right side.
        public init(other: String) { self.other = other }

        enum CodingKeys: String, CodingKey, CaseIterable { case other }
    }

    /// A map of another height and width.
    public struct Resizing: Sendable, Equatable, Codable {
        /// How a pixel is found.
        public enum Mode: String, Sendable, Codable, CaseIterable {
            /// The nearest pixel.
            case nearest
            /// Between two pixels along each axis.
            case linear
        }

        /// Where the center of pixel x of the output is in the input.
        public enum Coordinates: String, Sendable, Codable, CaseIterable {
            /// (x + 0.5) / scale − 0.5
            case halfPixel = "half_pixel"
            /// The same, and 0 for a single pixel.
            case pixelsOrStart = "pytorch_half_pixel"
            /// x / scale
            case asymmetric
            /// The first and last pixels of input and output coincide.
            case corners = "align_corners"
        }

        /// How a position between two pixels is rounded to one, in the mode `nearest`.
        public enum Rounding: String, Sendable, Codable, CaseIterable {
            /// To the nearest; down in the middle.
            case halfDown = "half_down"
            /// To the nearest; up in the middle.
            case halfUp = "half_up"
            /// Down.
            case down
            /// Up.
            case up
        }

        /// The size of the output.
        public var size: Extent
        /// The output's size divided by the input's, as the network's author gave it: [vertical, horizontal].
        public var scales: [Float]
        /// How a pixel is found.
        public var mode: Mode
        /// Where the center of an output is in the input.
        public var coordinates: Coordinates
        /// How a position is rounded, in the mode `nearest`.
        public var rounding: Rounding

        /// A map of another height and width.
        public init(size: Extent, scales: [Float], mode: Mode, coordinates: Coordinates, rounding: Rounding) {
            self.size = size
            self.scales = scales
            self.mode = mode
            self.coordinates = coordinates
            self.rounding = rounding
        }

        enum CodingKeys: String, CodingKey, CaseIterable { case size, scales, mode, coordinates, rounding }
    }
}

extension NetworkGraph.Node {
    /// Nil for a node that is no convolution.
    var convolution: NetworkGraph.Convolution? {
        if case .convolution(let convolution) = operation { convolution } else { nil }
    }

    /// The node whose output is added, if any.
    var residual: String? { convolution?.residual }

    /// The nodes that are read besides `input`.
    public var otherInputs: [String] {
        switch operation {
        case .convolution(let convolution): convolution.residual.map { [$0] } ?? []
        case .combination(let combination): [combination.other]
        case .channelSelection(let selection): selection.others
        case .concatenation(let concatenation): concatenation.others
        case .matrixProduct(let product): [product.other]
        default: []
        }
    }
}
