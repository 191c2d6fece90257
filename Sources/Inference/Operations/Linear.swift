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
        var int8: Int8Rules { Int8Rules(quantizesLines: true) }
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
    /// The int8 product, if the input has a range and the sums fit.
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
        if QuantizedLinear.canRead(rows: rows, inputs: length), let vector = description.quantization?.vector {
            quantized = QuantizedLinear(
                rows: rows, inputs: length, outputs: outputs, weights: stored, bias: biases, vector: vector)
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

/// `weight · x + bias` with int8 weights, on lines of float32 that are quantized as they are read: a vector, or the
/// lines of an array, such as the tokens of a transformer.
///
/// The product is a convolution with one tap, whose pixels are the lines. The codes of a vector have the range that was
/// measured on images. A line of an array has a range of its own, as tokens differ in size by far (Yao et al.:
/// "ZeroQuant: Efficient and Affordable Post-Training Quantization for Large-Scale Transformers", NeurIPS 2022).
private struct QuantizedLinear: Sendable {
    /// Lines whose products are found together: tiles of the kernels, whose codes fit a cache.
    private static let mostTogether = 56
    private static let block = TensorShape.channelBlock
    /// The code of 0 of lines with ranges of their own.
    private static let lineZero: UInt8 = 128

    private let rows: Int
    private let inputs: Int
    private let outputs: Int
    private let weights: QuantizedWeights
    /// Nil for lines with ranges of their own.
    private let input: QuantizationParameters?
    /// The bias of each output, for lines with ranges of their own; for a vector the kernel adds it.
    private let bias: AlignedFloats
    /// Blocks of sixteen outputs of a part. To quantize a line takes as long as some of its products.
    private let blocksPerPart: Int

    /// - Parameters:
    ///   - flat: [output][input]
    ///   - vector: what the codes of a vector stand for.
    init(
        rows: Int, inputs: Int, outputs: Int, weights flat: StoredNumbers, bias: [Float],
        vector: QuantizationParameters
    ) {
        (self.rows, self.inputs, self.outputs) = (rows, inputs, outputs)
        input = rows == 1 ? vector : nil
        blocksPerPart = rows == 1 ? 8 : 24
        let blocks = stride(from: 0, to: outputs, by: Self.block).map { first in
            QuantizedWeights.Block(
                weights: flat[(first * inputs)..<(min(first + Self.block, outputs) * inputs)], inputs: inputs)
        }
        weights = QuantizedWeights(
            blocks, taps: 1, bias: rows == 1 ? bias : bias.map { _ in 0 },
            input: input ?? QuantizationParameters(scale: 1, zeroPoint: Self.lineZero), residual: nil, output: nil
        )
        self.bias = AlignedFloats(padding: rows == 1 ? [] : bias, to: TensorShape.padded(outputs))
    }

    /// Whether arrays of so long lines can be quantized.
    static func canRead(rows: Int, inputs: Int) -> Bool {
        inputs <= QuantizedWeights.mostProducts && (rows == 1 || inputs % block == 0)
    }

    private var inputBlocks: Int { TensorShape.blockCount(inputs) }
    private var outputBlocks: Int { TensorShape.blockCount(outputs) }
    /// Codes of a line, whole blocks.
    private var codeCount: Int { inputBlocks * Self.block }
    /// Floats of the products of a part: [block][line][16]
    private var productCount: Int { blocksPerPart * Self.mostTogether * Self.block }
    private var outputParts: Int { (outputBlocks + blocksPerPart - 1) / blocksPerPart }
    private var rowParts: Int { (rows + Self.mostTogether - 1) / Self.mostTogether }

    var parts: Int { rowParts * outputParts }
    var scratchCount: Int {
        productCount + Self.mostTogether + Self.mostTogether * codeCount / MemoryLayout<Float>.stride
    }

    func run(_ part: Int, in pass: LayerPass) {
        // Parts that follow each other read the same weights.
        let (outputPart, rowPart) = part.quotientAndRemainder(dividingBy: rowParts)
        let ownRows = (0..<rows).part(rowPart, of: rowParts)
        let blocks = (outputPart * blocksPerPart)..<min((outputPart + 1) * blocksPerPart, outputBlocks)
        let units = pass.scratch + productCount
        let codes = UnsafeMutableRawPointer(units + Self.mostTogether).assumingMemoryBound(to: UInt8.self)
        for first in stride(from: 0, to: pass.batch * ownRows.count, by: Self.mostTogether) {
            let lines = (first..<min(first + Self.mostTogether, pass.batch * ownRows.count)).lazy.map { line in
                (image: line / ownRows.count, row: ownRows.lowerBound + line % ownRows.count)
            }
            for (place, line) in lines.enumerated() {
                units[place] = quantize(
                    pass.input.floats(line.image) + line.row * inputs, to: codes + place * codeCount, pass.kernels)
            }
            multiply(codes, lines.count, blocks, to: pass.scratch, pass.kernels)
            for (place, line) in lines.enumerated() {
                let output = pass.output.floats(line.image) + line.row * outputs
                for (index, outputBlock) in blocks.enumerated() {
                    write(
                        pass.scratch + (index * lines.count + place) * Self.block, outputBlock,
                        unit: units[place], to: output)
                }
            }
        }
    }

    /// Writes the codes of a line, and returns what one step is.
    private func quantize(
        _ line: UnsafePointer<Float>, to codes: UnsafeMutablePointer<UInt8>, _ kernels: SIMDTarget
    ) -> Float {
        if let input {
            kernels.table.quantize(line, 1 / input.scale, input.zeroPoint, inputs, codes)
            (codes + inputs).update(repeating: 0, count: codeCount - inputs)
            return 1
        }
        let unit = kernels.table.largest_magnitude(line, inputs) / 127
        kernels.table.quantize(line, 1 / unit, Self.lineZero, inputs, codes)
        return unit
    }

    private func multiply(
        _ codes: UnsafePointer<UInt8>, _ lineCount: Int, _ blocks: Range<Int>,
        to products: UnsafeMutablePointer<Float>, _ kernels: SIMDTarget
    ) {
        var product = lk_quantized_convolution()
        product.input = codes
        product.input_block_stride = Self.block
        product.pixel_step = codeCount
        product.input_blocks = Int32(inputBlocks)
        (product.kernel_height, product.kernel_width) = (1, 1)
        product.output = products
        product.output_block_stride = lineCount * Self.block
        product.output_width = Int32(lineCount)
        weights.apply(to: &product, from: blocks.lowerBound)
        kernels.table.convolve_quantized(&product, 0, Int32(blocks.count), 0, 1)
    }

    /// Writes the results of a block of outputs for a line.
    private func write(
        _ products: UnsafePointer<Float>, _ outputBlock: Int, unit: Float, to line: UnsafeMutablePointer<Float>
    ) {
        let first = outputBlock * Self.block
        var results = UnsafeRawPointer(products).loadUnaligned(as: SIMD16<Float>.self)
        if input == nil {
            results = results * unit + UnsafeRawPointer(bias.pointer + first).loadUnaligned(as: SIMD16<Float>.self)
        }
        guard first + Self.block > outputs else {
            UnsafeMutableRawPointer(line + first).storeBytes(of: results, as: SIMD16<Float>.self)
            return
        }
        for index in first..<outputs { line[index] = results[index - first] }
    }
}
