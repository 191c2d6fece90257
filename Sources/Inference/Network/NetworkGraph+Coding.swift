/// In JSON a node is flat: the keys of its operation are beside its name.
///
/// A key that its operation does not have is an error. A layer that ignored `"dilation": 2` would run, and its prints
/// would be wrong.
extension NetworkGraph.Node: Codable {
    private enum Key: String, CodingKey {
        case name, op, input, residual, weight, bias, outputs, kernel, stride, padding, relu, power, epsilon
    }

    private enum Kind: String, CaseIterable {
        case convolution, linear
        case generalizedMean = "generalized_mean"
        case l2Normalization = "l2_normalize"
        case cornerVotes = "corner_votes"

        /// The keys of a node of this kind, besides its name, kind and input.
        var keys: Set<Key> {
            switch self {
            case .convolution: [.weight, .bias, .outputs, .kernel, .stride, .padding, .relu, .residual]
            case .linear: [.weight, .bias, .outputs]
            case .generalizedMean: [.power, .epsilon]
            case .l2Normalization: []
            case .cornerVotes: [.stride]
            }
        }
    }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        name = try values.decode(String.self, forKey: .name)
        input = try values.decode(String.self, forKey: .input)
        let op = try values.decode(String.self, forKey: .op)
        let kind = Kind(rawValue: op)
        if let kind {
            try NetworkGraph.refuseOthers(
                than: Set(kind.keys.map(\.rawValue)).union(["name", "op", "input"]), in: decoder,
                of: "layer “\(name)” (\(op))")
        }
        switch kind {
        case .convolution:
            operation = .convolution(
                NetworkGraph.Convolution(
                    weight: try values.decode(String.self, forKey: .weight),
                    bias: try values.decode(String.self, forKey: .bias),
                    outputs: try values.decode(Int.self, forKey: .outputs),
                    kernel: try values.decode(Int.self, forKey: .kernel),
                    stride: try values.decode(Int.self, forKey: .stride),
                    padding: try values.decode(Int.self, forKey: .padding),
                    relu: try values.decodeIfPresent(Bool.self, forKey: .relu) ?? false,
                    residual: try values.decodeIfPresent(String.self, forKey: .residual)))
        case .linear:
            operation = .linear(
                NetworkGraph.Linear(
                    weight: try values.decode(String.self, forKey: .weight),
                    bias: try values.decode(String.self, forKey: .bias),
                    outputs: try values.decode(Int.self, forKey: .outputs)))
        case .generalizedMean:
            operation = .generalizedMean(
                power: try values.decode(Float.self, forKey: .power),
                epsilon: try values.decode(Float.self, forKey: .epsilon))
        case .l2Normalization: operation = .l2Normalization
        case .cornerVotes: operation = .cornerVotes(stride: try values.decode(Int.self, forKey: .stride))
        case nil:
            let known = Kind.allCases.map(\.rawValue).sorted().joined(separator: ", ")
            throw DecodingError.dataCorruptedError(
                forKey: .op, in: values,
                debugDescription: "layer “\(name)” has the unknown type “\(op)”; known are \(known)")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(name, forKey: .name)
        try values.encode(input, forKey: .input)
        func encode(_ kind: Kind) throws { try values.encode(kind.rawValue, forKey: .op) }
        switch operation {
        case .convolution(let convolution):
            try encode(.convolution)
            try values.encode(convolution.weight, forKey: .weight)
            try values.encode(convolution.bias, forKey: .bias)
            try values.encode(convolution.outputs, forKey: .outputs)
            try values.encode(convolution.kernel, forKey: .kernel)
            try values.encode(convolution.stride, forKey: .stride)
            try values.encode(convolution.padding, forKey: .padding)
            try values.encode(convolution.relu, forKey: .relu)
            try values.encodeIfPresent(convolution.residual, forKey: .residual)
        case .linear(let linear):
            try encode(.linear)
            try values.encode(linear.weight, forKey: .weight)
            try values.encode(linear.bias, forKey: .bias)
            try values.encode(linear.outputs, forKey: .outputs)
        case .generalizedMean(let power, let epsilon):
            try encode(.generalizedMean)
            try values.encode(power, forKey: .power)
            try values.encode(epsilon, forKey: .epsilon)
        case .l2Normalization: try encode(.l2Normalization)
        case .cornerVotes(let stride):
            try encode(.cornerVotes)
            try values.encode(stride, forKey: .stride)
        }
    }
}
