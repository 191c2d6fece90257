#if ONNXImport
import Inference
import Lookalike

extension GraphImporter {
    static let convolutionOperators: [String: Operator] = ["Conv": { try $0.convolution($1) }]

    private func convolution(_ node: ONNXNode) throws {
        let weight = try constant(node, 1)
        guard weight.extents.count == 4 else {
            throw node.problem(
                "has a weight of the shape \(weight.extents); two-dimensional convolutions are supported")
        }
        let outputs = weight.extents[0]
        let givenBias = try optionalConstant(node, 2)?.floats
        let groups = node.integer("group", default: 1)
        let kernel = NetworkGraph.Extent(height: weight.extents[2], width: weight.extents[3])
        let stride = try extent(node, "strides")
        let dilation = try extent(node, "dilations")
        let unpadded = paddings[node.input[0]]
        guard let source = try convolutionInput(unpadded?.source ?? tensor(node, 0)) else {
            throw node.problem("needs an input of the shape [1, channels, height, width]")
        }
        // Only a dense convolution reads the image as it lies in memory.
        let input = groups > 1 ? try map(source) ?? source : source
        guard groups > 0, outputs > 0, input.extents[1] % groups == 0, outputs % groups == 0,
            weight.extents[1] * groups == input.extents[1], (givenBias?.count ?? outputs) == outputs
        else {
            throw node.problem(
                "has a weight of the shape \(weight.extents) and \(groups) groups for an input of \(input.extents)")
        }
        var padding = try padding(
            node, input: try value(node, 0).extents, kernel: kernel, stride: stride, dilation: dilation)
        if let before = unpadded?.padding {
            padding = .init(
                top: padding.top + before.top, left: padding.left + before.left,
                bottom: padding.bottom + before.bottom, right: padding.right + before.right)
        }
        let size = try windows(
            node, input.extents, kernel: kernel, stride: stride, padding: padding, dilation: dilation, roundsUp: false)
        // By now the weight is known to have as many rows.
        let bias = givenBias ?? [Float](repeating: 0, count: outputs)
        let name = node.output.first ?? node.displayName
        add(
            node, input: input,
            NetworkGraph.Convolution(
                weight: builder.addWeight("\(name).weight", weight.floats, shape: weight.extents),
                bias: builder.addWeight("\(name).bias", bias, shape: [outputs]), outputs: outputs, kernel: kernel,
                stride: stride, padding: padding, dilation: dilation, groups: groups),
            extents: [1, outputs, size.height, size.width], layout: .map)
    }

    /// A scale and a shift per channel, as a depthwise 1×1 convolution, which can be merged into the one before it.
    func scaleChannels(_ name: String, _ input: ImportedTensor, scale: [Float], shift: [Float]) -> ImportedTensor {
        let channels = input.extents[1]
        let layer = builder.add(
            name, input: input.node,
            NetworkGraph.Convolution(
                weight: builder.addWeight("\(name).weight", scale, shape: [channels, 1, 1, 1]),
                bias: builder.addWeight("\(name).bias", shift, shape: [channels]), outputs: channels, kernel: 1,
                stride: 1, padding: 0, groups: channels))
        return ImportedTensor(node: layer, extents: input.extents, layout: .map)
    }

    // MARK: Windows

    /// A pair of an attribute, 1 without it.
    func extent(_ node: ONNXNode, _ name: String) throws -> NetworkGraph.Extent {
        guard let values = node.integers(name), !values.isEmpty else { return 1 }
        guard values.count == 2, values.allSatisfy({ (1...4096).contains($0) }) else {
            throw node.problem("has \(name) \(values); two numbers in 1…4096 are needed")
        }
        return .init(height: values[0], width: values[1])
    }

    func padding(
        _ node: ONNXNode, input: [Int], kernel: NetworkGraph.Extent, stride: NetworkGraph.Extent,
        dilation: NetworkGraph.Extent
    ) throws -> NetworkGraph.Padding {
        let automatic = node.string("auto_pad", default: "NOTSET")
        switch automatic {
        case "NOTSET":
            guard let pads = node.integers("pads"), !pads.isEmpty else { return 0 }
            guard pads.count == 4, pads.allSatisfy({ (0...4096).contains($0) }) else {
                throw node.problem("has pads \(pads); four numbers in 0…4096 are needed")
            }
            return .init(top: pads[0], left: pads[1], bottom: pads[2], right: pads[3])
        case "VALID": return 0
        case "SAME_UPPER", "SAME_LOWER":
            func both(_ size: Int, _ kernel: Int, _ stride: Int, _ dilation: Int) -> (Int, Int) {
                let total = max(((size + stride - 1) / stride - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
                let smaller = total / 2
                return automatic == "SAME_UPPER" ? (smaller, total - smaller) : (total - smaller, smaller)
            }
            let (top, bottom) = both(input[2], kernel.height, stride.height, dilation.height)
            let (left, right) = both(input[3], kernel.width, stride.width, dilation.width)
            return .init(top: top, left: left, bottom: bottom, right: right)
        default: throw node.problem("has the unknown auto_pad “\(automatic)”")
        }
    }

    /// The number of windows.
    func windows(
        _ node: ONNXNode, _ input: [Int], kernel: NetworkGraph.Extent, stride: NetworkGraph.Extent,
        padding: NetworkGraph.Padding, dilation: NetworkGraph.Extent, roundsUp: Bool
    ) throws -> NetworkGraph.Extent {
        func count(
            _ size: Int, _ before: Int, _ after: Int, _ kernel: Int, _ stride: Int, _ dilation: Int
        ) throws -> Int {
            let free = size + before + after - (kernel - 1) * dilation - 1
            guard kernel > 0, kernel <= 4096, free >= 0 else {
                throw node.problem("has a kernel of \(kernel), larger than its input \(input)")
            }
            guard roundsUp else { return free / stride + 1 }
            let count = (free + stride - 1) / stride + 1
            return (count - 1) * stride < size + before ? count : count - 1
        }
        return .init(
            height: try count(
                input[2], padding.top, padding.bottom, kernel.height, stride.height, dilation.height),
            width: try count(input[3], padding.left, padding.right, kernel.width, stride.width, dilation.width))
    }
}
#endif
