/// In JSON a node is flat: the keys of its operation are beside its name.
///
/// A key that its operation does not have is an error. A layer that ignored `"dilation": 2` would run, and its prints
/// would be wrong.
extension NetworkGraph.Node: Codable {
    private enum Key: String, CodingKey { case name, op, input }

    private enum Kind: String, CaseIterable {
        case convolution, linear
        case generalizedMean = "generalized_mean"
        case l2Normalization = "l2_normalize"
        case cornerVotes = "corner_votes"
        case maximumPooling = "max_pool"
        case averagePooling = "average_pool"
        case activation
        case combination = "combine"
        case constant, map
        case rearrangement = "rearrange"
        case channelSelection = "select_channels"
        case concatenation = "concatenate"
        case padding = "pad"
        case reduction = "reduce"
        case softmax
        case normalization = "normalize"
        case matrixProduct = "matrix_product"
        case resizing = "resize"

        /// The keys of a node of this kind, besides its name, kind and input.
        var keys: Set<String> {
            func all<Key: CodingKey & CaseIterable>(_ keys: Key.Type) -> Set<String> {
                Set(keys.allCases.map(\.stringValue))
            }
            return switch self {
            case .convolution: all(NetworkGraph.Convolution.CodingKeys.self)
            case .linear: all(NetworkGraph.Linear.CodingKeys.self)
            case .generalizedMean: all(MeanKeys.self)
            case .cornerVotes: all(StrideKeys.self)
            case .maximumPooling, .averagePooling: all(NetworkGraph.Pooling.CodingKeys.self)
            case .activation: NetworkGraph.Activation.keys
            case .combination: all(NetworkGraph.Combination.CodingKeys.self)
            case .constant: all(NetworkGraph.Constant.CodingKeys.self)
            case .rearrangement: all(NetworkGraph.Rearrangement.CodingKeys.self)
            case .channelSelection: all(NetworkGraph.ChannelSelection.CodingKeys.self)
            case .concatenation: all(NetworkGraph.Concatenation.CodingKeys.self)
            case .padding: all(NetworkGraph.ArrayPadding.CodingKeys.self)
            case .reduction: all(NetworkGraph.Reduction.CodingKeys.self)
            case .softmax: all(AxisKeys.self)
            case .normalization: all(NetworkGraph.Normalization.CodingKeys.self)
            case .matrixProduct: all(NetworkGraph.MatrixProduct.CodingKeys.self)
            case .resizing: all(NetworkGraph.Resizing.CodingKeys.self)
            case .l2Normalization, .map: []
            }
        }
    }

    private enum MeanKeys: String, CodingKey, CaseIterable { case power, epsilon }
    private enum StrideKeys: String, CodingKey, CaseIterable { case stride }
    private enum AxisKeys: String, CodingKey, CaseIterable { case axis }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        name = try values.decode(String.self, forKey: .name)
        input = try values.decode(String.self, forKey: .input)
        let op = try values.decode(String.self, forKey: .op)
        guard let kind = Kind(rawValue: op) else {
            let known = Kind.allCases.map(\.rawValue).sorted().joined(separator: ", ")
            throw DecodingError.dataCorruptedError(
                forKey: .op, in: values,
                debugDescription: "layer “\(name)” has the unknown type “\(op)”; known are \(known)")
        }
        try NetworkGraph.refuseOthers(
            than: kind.keys.union(["name", "op", "input"]), in: decoder, of: "layer “\(name)” (\(op))")
        operation =
            switch kind {
            case .convolution: .convolution(try .init(from: decoder))
            case .linear: .linear(try .init(from: decoder))
            case .generalizedMean: try Self.generalizedMean(decoder.container(keyedBy: MeanKeys.self))
            case .l2Normalization: .l2Normalization
            case .cornerVotes:
                .cornerVotes(stride: try decoder.container(keyedBy: StrideKeys.self).decode(Int.self, forKey: .stride))
            case .maximumPooling: .maximumPooling(try .init(from: decoder))
            case .averagePooling: .averagePooling(try .init(from: decoder))
            case .activation: .activation(try .init(from: decoder))
            case .combination: .combination(try .init(from: decoder))
            case .constant: .constant(try .init(from: decoder))
            case .map: .map
            case .rearrangement: .rearrangement(try .init(from: decoder))
            case .channelSelection: .channelSelection(try .init(from: decoder))
            case .concatenation: .concatenation(try .init(from: decoder))
            case .padding: .padding(try .init(from: decoder))
            case .reduction: .reduction(try .init(from: decoder))
            case .softmax:
                .softmax(axis: try decoder.container(keyedBy: AxisKeys.self).decode(Int.self, forKey: .axis))
            case .normalization: .normalization(try .init(from: decoder))
            case .matrixProduct: .matrixProduct(try .init(from: decoder))
            case .resizing: .resizing(try .init(from: decoder))
            }
    }

    private static func generalizedMean(_ values: KeyedDecodingContainer<MeanKeys>) throws -> NetworkGraph.Operation {
        .generalizedMean(
            power: try values.decode(Float.self, forKey: .power),
            epsilon: try values.decode(Float.self, forKey: .epsilon))
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(name, forKey: .name)
        try values.encode(input, forKey: .input)
        func encode(_ kind: Kind, _ parameters: (any Encodable)? = nil) throws {
            try values.encode(kind.rawValue, forKey: .op)
            try parameters?.encode(to: encoder)
        }
        switch operation {
        case .convolution(let convolution): try encode(.convolution, convolution)
        case .linear(let linear): try encode(.linear, linear)
        case .generalizedMean(let power, let epsilon):
            try encode(.generalizedMean)
            var mean = encoder.container(keyedBy: MeanKeys.self)
            try mean.encode(power, forKey: .power)
            try mean.encode(epsilon, forKey: .epsilon)
        case .l2Normalization: try encode(.l2Normalization)
        case .cornerVotes(let stride):
            try encode(.cornerVotes)
            var votes = encoder.container(keyedBy: StrideKeys.self)
            try votes.encode(stride, forKey: .stride)
        case .maximumPooling(let pooling): try encode(.maximumPooling, pooling)
        case .averagePooling(let pooling): try encode(.averagePooling, pooling)
        case .activation(let activation): try encode(.activation, activation)
        case .combination(let combination): try encode(.combination, combination)
        case .constant(let constant): try encode(.constant, constant)
        case .map: try encode(.map)
        case .rearrangement(let rearrangement): try encode(.rearrangement, rearrangement)
        case .channelSelection(let selection): try encode(.channelSelection, selection)
        case .concatenation(let concatenation): try encode(.concatenation, concatenation)
        case .padding(let padding): try encode(.padding, padding)
        case .reduction(let reduction): try encode(.reduction, reduction)
        case .softmax(let axis):
            try encode(.softmax)
            var softmax = encoder.container(keyedBy: AxisKeys.self)
            try softmax.encode(axis, forKey: .axis)
        case .normalization(let normalization): try encode(.normalization, normalization)
        case .matrixProduct(let product): try encode(.matrixProduct, product)
        case .resizing(let resizing): try encode(.resizing, resizing)
        }
    }
}

extension NetworkGraph.Convolution: Codable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case weight, bias, outputs, kernel, stride, padding, dilation, groups, relu, residual, activation
    }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        weight = try values.decode(String.self, forKey: .weight)
        bias = try values.decode(String.self, forKey: .bias)
        outputs = try values.decode(Int.self, forKey: .outputs)
        kernel = try values.decode(NetworkGraph.Extent.self, forKey: .kernel)
        stride = try values.decode(NetworkGraph.Extent.self, forKey: .stride)
        padding = try values.decode(NetworkGraph.Padding.self, forKey: .padding)
        dilation = try values.decodeIfPresent(NetworkGraph.Extent.self, forKey: .dilation) ?? 1
        groups = try values.decodeIfPresent(Int.self, forKey: .groups) ?? 1
        relu = try values.decodeIfPresent(Bool.self, forKey: .relu) ?? false
        residual = try values.decodeIfPresent(String.self, forKey: .residual)
        if values.contains(.activation) {
            let inner = try values.superDecoder(forKey: .activation)
            try NetworkGraph.refuseOthers(than: NetworkGraph.Activation.keys, in: inner, of: "the activation")
            activation = try NetworkGraph.Activation(from: inner)
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
}
