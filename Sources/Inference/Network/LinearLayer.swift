import Compute

/// `weight · x + bias` on a vector, or on the last axis of an array.
struct LinearLayer: Layer {
    let name: String
    let inputs: [String]
    let outputShape: TensorShape
    private let rows: Int
    private let inputLength: Int
    private let outputs: Int
    /// [outputs][inputs] for one row, and packed for the matrix kernel otherwise.
    private let weights: AlignedFloats
    private let bias: AlignedFloats
    /// For one row, if its range is known and its sums fit.
    private let quantized: QuantizedLinear?

    /// Blocks of sixteen outputs of a part: as many as a kernel's widest tile has.
    private static let blocksPerPart = 2

    init(_ linear: NetworkGraph.Linear, _ description: LayerDescription) throws(ModelError.Reason) {
        let extents = description.input.extents
        guard description.input.isRowMajor, let length = extents.last else {
            throw description.problem("is linear, but its input \(description.input.description) is not a vector")
        }
        outputs = try description.checked(linear.outputs, "outputs", in: 1...65_536)
        name = description.node.name
        inputs = [description.node.input]
        inputLength = length
        rows = extents.dropLast().reduce(1, *)
        let shape = Array(extents.dropLast()) + [outputs]
        _ = try description.elementCount(shape)
        outputShape = TensorShape(extents: shape)
        let stored = try description.file.numbers(linear.weight, shape: [outputs, length])
        let biases = try description.file.floats(linear.bias, shape: [outputs])
        let block = TensorShape.channelBlock
        if rows == 1, length <= QuantizedWeights.mostProducts, let parameters = description.quantization?.vector {
            quantized = QuantizedLinear(
                inputs: length, outputs: outputs, weights: stored, bias: biases, input: parameters)
            (weights, bias) = (AlignedFloats(count: 0), AlignedFloats(count: 0))
            return
        }
        quantized = nil
        let flat = stored.floats
        weights =
            rows == 1
            ? AlignedFloats(padding: flat, to: flat.count)
            : DirectConvolution.packed(flat, outputs: outputs, inputs: length, taps: 1)
        bias = AlignedFloats(
            padding: biases, to: (outputs + block - 1) / block * block)
    }

    private var kernel: MatrixKernel { MatrixKernel(rows: rows, depth: inputLength, columns: outputs) }

    var parameterCount: Int { outputs * (inputLength + 1) }
    var multiplyAdds: Int { rows * outputs * inputLength }
    var operationCount: Int {
        rows * kernel.packedCount + TensorShape.operationCount(ofElements: outputShape.elementCount)
    }
    var summary: String { (rows == 1 ? "linear" : "linear, \(rows) rows") + (quantized == nil ? "" : ", int8") }
    var parts: Int {
        quantized?.parts ?? (rows == 1 ? 1 : (kernel.blocks + Self.blocksPerPart - 1) / Self.blocksPerPart)
    }
    var scratchCount: Int { quantized?.scratchCount ?? (rows == 1 ? 0 : kernel.scratchCount) }

    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget
    ) {
        if let quantized {
            for part in parts {
                quantized.run(part, tensors: tensors, batch: batch, scratch: scratch, kernels: kernels)
            }
            return
        }
        guard rows == 1 else {
            for part in parts {
                let first = part * Self.blocksPerPart
                for image in 0..<batch {
                    kernel.run(
                        tensors.input.floats(image), weights.pointer,
                        blocks: first..<min(first + Self.blocksPerPart, kernel.blocks), bias: bias.pointer,
                        to: tensors.output.floats(image), scratch: scratch, kernels: kernels)
                }
            }
            return
        }
        for image in 0..<batch {
            let output = tensors.output.floats(image)
            kernels.table.dot_products(
                tensors.input.floats(image), weights.pointer, inputLength, outputs, inputLength, output)
            for index in 0..<outputs { output[index] += bias.pointer[index] }
        }
    }
}
