#if ONNXImport
import Lookalike

/// Graphs whose numbers were quantized. Their weights are the integers of the file. What depends on the image has the
/// values that its integers stand for, and is computed in float32. Where the integers are chosen for each image
/// (DynamicQuantizeLinear), it is not rounded to them.
extension GraphImporter {
    static let quantizationOperators: [String: Operator] = [
        "QuantizeLinear": { try $0.quantize($1) },
        "DequantizeLinear": { try $0.dequantize($1) },
        "DynamicQuantizeLinear": { try $0.quantizeDynamically($1) },
        "MatMulInteger": { try $0.integerProduct($1, as: "MatMul") },
        "ConvInteger": { try $0.integerProduct($1, as: "Conv") },
    ]

    // MARK: Constants

    /// - Returns: nil if a parameter depends on the image.
    func foldedQuantization(_ node: ONNXNode, _ constant: ConstantTensor) throws -> ConstantTensor? {
        guard node.integer("block_size", default: 0) == 0 else {
            throw node.problem("has blocks along an axis; that is not supported")
        }
        let scale = try self.constant(node, 1)
        let zero = try optionalConstant(node, 2)
        let extents = constant.extents
        let axis = scale.count == 1 ? 0 : try node.axis(node.integer("axis", default: 1), rank: extents.count)
        guard scale.count == 1 || scale.count == extents[axis], zero?.count ?? scale.count == scale.count else {
            throw node.problem("has \(scale.count) scales and \(zero?.count ?? 0) zero points for \(extents)")
        }
        let scales = Self.repeated(scale.floats, over: extents, axis: axis)
        let zeros = Self.repeated(zero?.floats ?? [0], over: extents, axis: axis)
        if node.opType == "DequantizeLinear" {
            let values = constant.floats.enumerated().map { ($1 - zeros($0)) * scales($0) }
            return .init(floats: values, extents: extents)
        }
        guard scale.floats.allSatisfy({ $0 > 0 && $0.isFinite }) else {
            throw node.problem("has a scale that is not positive")
        }
        let codes = try codes(of: node)
        let values = constant.floats.enumerated().map { index, value -> Int in
            let code = (value / scales(index)).rounded(.toNearestOrEven)
            return Int(min(max(code + zeros(index), codes.lowerBound), codes.upperBound))
        }
        return .init(integers: values, extents: extents)
    }

    /// The scale or zero point of each element of a tensor: one for all, or one for each place along an axis.
    private static func repeated(_ values: [Float], over extents: [Int], axis: Int) -> (_ element: Int) -> Float {
        guard values.count > 1 else { return { _ in values[0] } }
        let inner = extents[(axis + 1)...].reduce(1, *)
        return { values[$0 / inner % values.count] }
    }

    /// Quantizes a constant to its own range.
    func foldDynamicQuantization(_ node: ONNXNode, _ constant: ConstantTensor) throws {
        let values = constant.floats
        let (low, high) = (min(values.min() ?? 0, 0), max(values.max() ?? 0, 0))
        let scale = high > low ? (high - low) / 255 : 1
        guard scale.isFinite else { throw node.problem("quantizes infinite numbers") }
        let zero = (-low / scale).rounded(.toNearestOrEven)
        let codes = values.map { Int(min(max(($0 / scale).rounded(.toNearestOrEven) + zero, 0), 255)) }
        set(node, .constant(.init(integers: codes, extents: constant.extents)))
        set(node, .constant(.init(floats: [scale], extents: [])), output: 1)
        set(node, .constant(.init(integers: [Int(zero)], extents: [])), output: 2)
    }

    /// The integers that a quantization may give.
    private func codes(of node: ONNXNode) throws -> ClosedRange<Float> {
        let given = node.integer("output_dtype", default: 0)
        let element =
            if given != 0 { ConstantTensor.Element(rawValue: Int32(truncatingIfNeeded: given)) } else {
                node.input.count < 3 || node.input[2].isEmpty ? .uint8 : elements[node.input[2]]
            }
        switch element {
        case .uint8: return 0...255
        case .int8: return -128...127
        case .uint16: return 0...65535
        case .int16: return -32768...32767
        default: throw node.problem("quantizes to a type that is not known or not supported")
        }
    }

    // MARK: What depends on the image

    private func quantize(_ node: ONNXNode) throws {
        let scale = try constant(node, 1)
        let zero = try optionalConstant(node, 2) ?? .init(integers: [0], extents: [])
        guard let step = scale.scalar, let origin = zero.scalar, step > 0 else {
            throw node.problem("has other than one scale and one zero point; that is not supported")
        }
        let codes = try codes(of: node)
        let (low, high) = (codes.lowerBound - origin, codes.upperBound - origin)
        // Rounding to sixteen bits is too little to matter.
        try activation(
            node,
            high - low == 255
                ? .init(.quantize, alpha: step, beta: low) : .init(.clamp, alpha: step * low, beta: step * high))
        mark(node, .init(scale: step, zero: origin))
    }

    private func dequantize(_ node: ONNXNode) throws {
        guard let known = quantized[node.input.first ?? ""] else {
            throw node.problem("reads numbers that no node quantized")
        }
        let (scale, zero) = (try constant(node, 1).scalar, try optionalConstant(node, 2)?.scalar ?? 0)
        guard scale == known.scale, zero == known.zero else {
            throw node.problem("has another scale or zero point than what it reads; that is not supported")
        }
        set(node, try value(node, 0))
    }

    /// As if the scale were 1: what multiplies by it changes nothing.
    private func quantizeDynamically(_ node: ONNXNode) throws {
        set(node, try value(node, 0))
        set(node, .constant(.init(floats: [1], extents: [])), output: 1)
        set(node, .constant(.init(integers: [0], extents: [])), output: 2)
        mark(node, .init(scale: 1, zero: 0))
    }

    private func integerProduct(_ node: ONNXNode, as kind: String) throws {
        var product = node
        product.opType = kind
        product.input = Array(node.input.prefix(2))
        for index in product.input.indices {
            let zero = try optionalConstant(node, 2 + index) ?? .init(integers: [0], extents: [])
            switch try value(node, index) {
            case .tensor:
                guard quantized[node.input[index]] == .init(scale: 1, zero: 0), zero.scalar == 0 else {
                    throw node.problem("multiplies integers that no DynamicQuantizeLinear made; that is not supported")
                }
            case .constant(let codes):
                // Less their zero point: one for all, or one per output.
                let axis = kind == "Conv" ? 0 : codes.extents.count - 1
                guard zero.count == 1 || index == 1 && axis >= 0 && zero.count == codes.extents[axis] else {
                    throw node.problem("has \(zero.count) zero points for \(codes.extents)")
                }
                let zeros = Self.repeated(zero.floats, over: codes.extents, axis: axis)
                let numbers = codes.floats.enumerated().map { $1 - zeros($0) }
                let name = "\(node.displayName).\(index)"
                values[name] = .constant(.init(floats: numbers, extents: codes.extents))
                product.input[index] = name
            }
        }
        guard let run = Self.operators[kind] else { return }
        try run(self, product)
        mark(node, .init(scale: 1, zero: 0))
    }

    private func mark(_ node: ONNXNode, _ quantization: TensorQuantization) {
        if let output = node.output.first { quantized[output] = quantization }
    }

    /// Refuses an operator that reads as numbers what the file has as integers.
    func checkReadsIntegers(_ node: ONNXNode) throws {
        for name in node.input where quantized[name] != nil && !Self.readers.contains(node.opType) {
            throw node.problem("computes with the integers of “\(name)”; that is not supported")
        }
    }

    /// What reads the integers of tensors that depend on the image. A cast makes floats of a product.
    private static let readers: Set<String> = ["DequantizeLinear", "MatMulInteger", "ConvInteger", "Cast"]
}

/// What the integers of a tensor stand for: `scale · (integer − zero)`.
struct TensorQuantization: Equatable {
    var scale: Float
    var zero: Float
}
#endif
