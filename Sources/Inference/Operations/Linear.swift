import CKernels
import Compute

extension NetworkGraph {
    /// `weight · x + bias` on the last axis.
    public struct Linear: RunnableOperation {
        /// The tensor of the weights: [outputs][inputs].
        public var weight: String
        /// The tensor of the biases: [outputs].
        public var bias: String
        /// The dimension of the output.
        public var outputs: Int

        /// A fully connected layer; it is checked when a network is built from the graph.
        public init(weight: String, bias: String, outputs: Int) {
            (self.weight, self.bias, self.outputs) = (weight, bias, outputs)
        }

        enum CodingKeys: String, CodingKey, CaseIterable { case weight, bias, outputs }

        static let names = ["linear"]
        var tensorNames: [String] { [weight, bias] }
        var int8: Int8Rules { Int8Rules(quantizesVectors: true) }
        func kind(of input: TensorKind) -> TensorKind { input == .vector ? .vector : .other }

        func weightCount(in file: SafeTensorsFile) -> Int {
            guard let shape = file.shape(of: weight), shape.count == 2, shape.allSatisfy({ $0 > 0 }) else { return 0 }
            return TensorShape.padded(shape[0]) * (TensorShape.padded(shape[1]) + Self.besidesWeights)
        }

        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try LinearLayer(self, description)
        }
    }
}

/// `weight · x + bias` on a vector, or on the last axis of an array.
private struct LinearLayer: Layer {
    let outputShape: TensorShape
    private let rows: Int
    private let inputLength: Int
    private let outputs: Int
    /// [outputs][inputs] for one row, and packed for the matrix kernel otherwise.
    private let weights: AlignedFloats
    private let bias: AlignedFloats
    /// The int8 product for one row, if its range is known and its sums fit.
    private let quantized: QuantizedLinear?

    /// Blocks of sixteen outputs of a part: as many as a kernel's widest tile has.
    private static let blocksPerPart = 2

    init(_ linear: NetworkGraph.Linear, _ description: LayerDescription) throws(ModelError.Reason) {
        let extents = description.input.extents
        guard description.input.isRowMajor, let length = extents.last else {
            throw description.problem("is linear, but its input \(description.input.description) is not a vector")
        }
        outputs = try description.checked(linear.outputs, "outputs", in: 1...65_536)
        inputLength = length
        rows = extents.dropLast().reduce(1, *)
        let shape = Array(extents.dropLast()) + [outputs]
        try description.elementCount(shape)
        outputShape = TensorShape(extents: shape)
        let stored = try description.file.numbers(linear.weight, shape: [outputs, length])
        let biases = try description.file.floats(linear.bias, shape: [outputs])
        if rows == 1, length <= QuantizedWeights.mostProducts, let parameters = description.quantization?.vector {
            quantized = QuantizedLinear(
                inputs: length, outputs: outputs, weights: stored, bias: biases, input: parameters)
            (weights, bias) = (AlignedFloats(count: 0), AlignedFloats(count: 0))
            return
        }
        quantized = nil
        if rows == 1 {
            let flat = AlignedFloats(count: stored.count)
            stored.withKernelArguments { lk_widen($0, $1, stored.count, flat.pointer) }
            weights = flat
        } else {
            weights = DirectConvolution.packed(stored, outputs: outputs, inputs: length, taps: 1)
        }
        bias = AlignedFloats(padding: biases, to: TensorShape.padded(outputs))
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

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        if let quantized {
            for part in parts {
                quantized.run(part, in: pass)
            }
            return
        }
        guard rows == 1 else {
            for part in parts {
                let first = part * Self.blocksPerPart
                for image in 0..<pass.batch {
                    kernel.run(
                        pass.input.floats(image), weights.pointer,
                        blocks: first..<min(first + Self.blocksPerPart, kernel.blocks), bias: bias.pointer,
                        to: pass.output.floats(image), scratch: pass.scratch, kernels: pass.kernels)
                }
            }
            return
        }
        for image in 0..<pass.batch {
            let output = pass.output.floats(image)
            pass.kernels.table.dot_products(
                pass.input.floats(image), weights.pointer, inputLength, outputs, inputLength, output)
            for index in 0..<outputs { output[index] += bias.pointer[index] }
        }
    }
}

/// `weight · x + bias` on a vector with int8 weights; the vector is quantized as it is read.
///
/// Reading the weights takes most of the time, so that they are a quarter as large, and read once for several images:
/// the product is a convolution with one tap, whose pixels are the images.
private struct QuantizedLinear: Sendable {
    /// Images whose products are found together.
    private static let mostTogether = 8
    /// Blocks of sixteen outputs of a part.
    private static let blocksPerPart = 8

    private let inputs: Int
    private let outputs: Int
    private let weights: QuantizedWeights
    private let input: QuantizationParameters

    /// - Parameters:
    ///   - flat: [output][input]
    ///   - input: what the codes of the vector stand for.
    init(inputs: Int, outputs: Int, weights flat: StoredNumbers, bias: [Float], input: QuantizationParameters) {
        (self.inputs, self.outputs, self.input) = (inputs, outputs, input)
        let block = TensorShape.channelBlock
        let blocks = stride(from: 0, to: outputs, by: block).map { first in
            QuantizedWeights.Block(
                weights: flat[(first * inputs)..<(min(first + block, outputs) * inputs)], inputs: inputs)
        }
        weights = QuantizedWeights(blocks, taps: 1, bias: bias, input: input, residual: nil, output: nil)
    }

    private var inputBlocks: Int { TensorShape.blockCount(inputs) }
    private var outputBlocks: Int { TensorShape.blockCount(outputs) }
    /// Codes of an image's vector, whole blocks.
    private var codeCount: Int { inputBlocks * TensorShape.channelBlock }
    /// Floats of the products of a part: [block][image][16]
    private var productCount: Int { Self.blocksPerPart * Self.mostTogether * TensorShape.channelBlock }

    var parts: Int { (outputBlocks + Self.blocksPerPart - 1) / Self.blocksPerPart }
    var scratchCount: Int { productCount + Self.mostTogether * codeCount / MemoryLayout<Float>.stride }

    func run(_ part: Int, in pass: LayerPass) {
        let (block, scratch, table) = (TensorShape.channelBlock, pass.scratch, pass.kernels.table)
        let codes = UnsafeMutableRawPointer(scratch + productCount).assumingMemoryBound(to: UInt8.self)
        let blocks = (part * Self.blocksPerPart)..<min((part + 1) * Self.blocksPerPart, outputBlocks)
        for first in stride(from: 0, to: pass.batch, by: Self.mostTogether) {
            let images = first..<min(first + Self.mostTogether, pass.batch)
            for (row, image) in images.enumerated() {
                let line = codes + row * codeCount
                table.quantize(pass.input.floats(image), 1 / input.scale, input.zeroPoint, inputs, line)
                (line + inputs).update(repeating: 0, count: codeCount - inputs)
            }
            var product = lk_quantized_convolution()
            product.input = UnsafePointer(codes)
            product.input_block_stride = block
            product.pixel_step = codeCount
            product.input_blocks = Int32(inputBlocks)
            (product.kernel_height, product.kernel_width) = (1, 1)
            product.output = scratch
            product.output_block_stride = images.count * block
            product.output_width = Int32(images.count)
            weights.apply(to: &product, from: blocks.lowerBound)
            table.convolve_quantized(&product, 0, Int32(blocks.count), 0, 1)
            for (index, outputBlock) in blocks.enumerated() {
                let count = min(block, outputs - outputBlock * block)
                for (row, image) in images.enumerated() {
                    (pass.output.floats(image) + outputBlock * block)
                        .update(from: scratch + (index * images.count + row) * block, count: count)
                }
            }
        }
    }
}
