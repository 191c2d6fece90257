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

/// `weight · x + bias` on a vector, or on the last axis of an array, such as the tokens of a transformer.
struct LinearLayer: Layer {
    private(set) var outputShape: TensorShape
    private let rows: Int
    private let inputs: Int
    private let outputs: Int
    private let weights: Weights
    private let bias: AlignedFloats
    /// What a fused layer does with the results of an array: a function, and the sum with a second input.
    private var activation: NetworkGraph.Activation?
    private var addsInput = false

    private enum Weights: Sendable {
        /// [outputs][inputs], for one row.
        case vector(AlignedFloats)
        /// Packed for the kernel of convolutions.
        case matrix(AlignedFloats)
        /// With what the codes of a vector stand for; nil for lines with ranges of their own, as tokens differ in size
        /// by far (Yao et al.: "ZeroQuant: Efficient and Affordable Post-Training Quantization for Large-Scale
        /// Transformers", NeurIPS 2022).
        case quantized(QuantizedWeights, input: QuantizationParameters?)
    }

    private static let block = TensorShape.channelBlock
    /// Lines whose products are found together: tiles of the kernels, whose numbers fit a cache.
    private static let mostTogether = 56
    /// The code of 0 of lines with ranges of their own.
    private static let lineZero: UInt8 = 128

    init(_ linear: NetworkGraph.Linear, _ description: LayerDescription) throws(ModelError.Reason) {
        let extents = description.input.extents
        guard description.input.isRowMajor, let length = extents.last else {
            throw description.problem("is linear, but its input \(description.input.description) is not a vector")
        }
        outputs = try description.checked(linear.outputs, "outputs", in: 1...65_536)
        inputs = length
        rows = extents.dropLast().reduce(1, *)
        let shape = Array(extents.dropLast()) + [outputs]
        try description.elementCount(shape)
        outputShape = TensorShape(extents: shape)
        let stored = try description.file.numbers(linear.weight, shape: [outputs, length])
        let biases = try description.file.floats(linear.bias, shape: [outputs])
        bias = AlignedFloats(padding: biases, to: TensorShape.padded(outputs))
        let input = rows == 1 ? description.quantization?.vector : nil
        if description.quantization?.quantizesLines == true, length <= QuantizedWeights.mostProducts,
            input != nil || length % Self.block == 0
        {
            let count = linear.outputs
            let blocks = stride(from: 0, to: count, by: Self.block).map { first in
                QuantizedWeights.Block(
                    weights: stored[(first * length)..<(min(first + Self.block, count) * length)], inputs: length)
            }
            // The bias is added when the unit of a line is known.
            let quantized = QuantizedWeights(
                blocks, taps: 1, bias: biases.map { _ in 0 },
                input: input ?? QuantizationParameters(scale: 1, zeroPoint: Self.lineZero), residual: nil, output: nil)
            weights = .quantized(quantized, input: input)
        } else if rows == 1 {
            let flat = AlignedFloats(count: stored.count)
            stored.withKernelArguments { lk_widen($0, $1, stored.count, flat.pointer) }
            weights = .vector(flat)
        } else {
            weights = .matrix(DirectConvolution.packed(stored, outputs: outputs, inputs: length, taps: 1))
        }
    }

    /// The same layer with a function of its results; nil for a vector, or if something comes before the function.
    func applying(_ activation: NetworkGraph.Activation) -> LinearLayer? {
        guard rows > 1, self.activation == nil, !addsInput else { return nil }
        var layer = self
        layer.activation = activation
        return layer
    }

    /// The same layer with the sum of its results and a second input of as many elements; nil for a vector.
    func addingInput(as shape: TensorShape) -> LinearLayer? {
        guard rows > 1, !addsInput, shape.elementCount == outputShape.elementCount else { return nil }
        var layer = self
        (layer.addsInput, layer.outputShape) = (true, shape)
        return layer
    }

    var isQuantized: Bool { if case .quantized = weights { true } else { false } }

    var parameterCount: Int { outputs * (inputs + 1) }
    /// Many lines read the weights anew, whether they are of one image or of several.
    var batchedParameterCount: Int { 2 * rows > Self.mostTogether ? 0 : parameterCount }
    var multiplyAdds: Int { rows * outputs * inputs }
    var operationCount: Int {
        rows * MatrixKernel(rows: rows, depth: inputs, columns: outputs).packedCount
            + TensorShape.operationCount(ofElements: outputShape.elementCount * (addsInput ? 2 : 1))
    }
    var summary: String {
        (rows == 1 ? "linear" : "linear, \(rows) rows") + (activation.map { ", \($0.kind.rawValue)" } ?? "")
            + (addsInput ? ", sum" : "") + (isQuantized ? ", int8" : "")
    }

    private var outputBlocks: Int { TensorShape.blockCount(outputs) }
    /// Blocks of sixteen outputs of a part. Packing the lines takes as long as some of their products.
    private var blocksPerPart: Int { isQuantized && rows > 1 ? 16 : 8 }
    private var outputParts: Int { (outputBlocks + blocksPerPart - 1) / blocksPerPart }
    private var rowParts: Int { (rows + Self.mostTogether - 1) / Self.mostTogether }
    /// Floats of the products of a part: [block][line][16]
    private var productCount: Int { blocksPerPart * Self.mostTogether * Self.block }
    private var paddedInputs: Int { TensorShape.padded(inputs) }

    var parts: Int { if case .vector = weights { 1 } else { rowParts * outputParts } }
    var scratchCount: Int {
        switch weights {
        case .vector: 0
        case .matrix: productCount + Self.mostTogether * paddedInputs
        case .quantized:
            productCount + Self.mostTogether + Self.mostTogether * paddedInputs / MemoryLayout<Float>.stride
        }
    }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        if case .vector(let weights) = weights {
            for image in 0..<pass.batch {
                let output = pass.output.floats(image)
                pass.kernels.table.dot_products(
                    pass.input.floats(image), weights.pointer, inputs, outputs, inputs, output)
                for index in 0..<outputs { output[index] += bias.pointer[index] }
            }
            return
        }
        var part = parts.lowerBound
        while part < parts.upperBound {
            // Lines are packed once for parts that follow each other.
            let rowPart = part / outputParts
            let end = min(parts.upperBound, (rowPart + 1) * outputParts)
            run(rowPart, (part - rowPart * outputParts)..<(end - rowPart * outputParts), in: pass)
            part = end
        }
    }

    /// Lines that follow each other in an image.
    private struct Lines {
        let image: Int
        let rows: Range<Int>
        /// Where the first is among those of the same product.
        let place: Int
    }

    private func run(_ rowPart: Int, _ outputParts: Range<Int>, in pass: LayerPass) {
        let ownRows = (0..<rows).part(rowPart, of: rowParts)
        let units = pass.scratch + productCount
        let packed = isQuantized ? units + Self.mostTogether : units
        let lineCount = pass.batch * ownRows.count
        for first in stride(from: 0, to: lineCount, by: Self.mostTogether) {
            let count = min(Self.mostTogether, lineCount - first)
            func forEachImage(_ body: (Lines) -> Void) {
                var place = 0
                while place < count {
                    let (image, row) = (first + place).quotientAndRemainder(dividingBy: ownRows.count)
                    let rows = min(ownRows.count - row, count - place)
                    let start = ownRows.lowerBound + row
                    body(Lines(image: image, rows: start..<(start + rows), place: place))
                    place += rows
                }
            }
            forEachImage { lines in
                for (index, row) in lines.rows.enumerated() {
                    pack(
                        pass.input.floats(lines.image) + row * inputs, lines.place + index, of: count, to: packed,
                        units: units, pass.kernels)
                }
            }
            for outputPart in outputParts {
                let blocks = (outputPart * blocksPerPart)..<min((outputPart + 1) * blocksPerPart, outputBlocks)
                multiply(packed, count, blocks, to: pass.scratch, pass.kernels)
                forEachImage {
                    finish(pass.scratch, count, blocks, $0, units: units, pass)
                }
            }
        }
    }

    /// Packs a line as blocks of sixteen numbers or codes: [block][line][16]
    private func pack(
        _ line: UnsafePointer<Float>, _ place: Int, of count: Int, to packed: UnsafeMutablePointer<Float>,
        units: UnsafeMutablePointer<Float>, _ kernels: SIMDTarget
    ) {
        let (block, stride) = (Self.block, count * Self.block)
        guard case .quantized(_, let input) = weights else {
            var from = UnsafeRawPointer(line)
            var to = UnsafeMutableRawPointer(packed + place * block)
            let bytes = block * MemoryLayout<Float>.stride
            for _ in 0..<(inputs / block) {
                to.storeBytes(of: from.loadUnaligned(as: SIMD16<Float>.self), as: SIMD16<Float>.self)
                from += bytes
                to += count * bytes
            }
            to.copyMemory(from: from, byteCount: inputs % block * MemoryLayout<Float>.stride)
            return
        }
        let codes = UnsafeMutableRawPointer(packed).assumingMemoryBound(to: UInt8.self) + place * block
        if let input {
            for first in Swift.stride(from: 0, to: inputs, by: block) {
                let (to, filled) = (codes + first / block * stride, min(block, inputs - first))
                kernels.table.quantize(line + first, 1 / input.scale, input.zeroPoint, filled, to)
                (to + filled).update(repeating: 0, count: block - filled)
            }
            units[place] = 1
        } else {
            units[place] = kernels.table.quantize_line(line, inputs, stride, codes)
        }
    }

    private func multiply(
        _ packed: UnsafeMutablePointer<Float>, _ count: Int, _ blocks: Range<Int>,
        to products: UnsafeMutablePointer<Float>, _ kernels: SIMDTarget
    ) {
        let (block, stride) = (Self.block, count * Self.block)
        switch weights {
        case .vector: break
        case .matrix(let weights):
            var product = lk_convolution()
            product.input = UnsafePointer(packed)
            (product.input_block_stride, product.pixel_step) = (stride, block)
            product.input_channels = Int32(inputs)
            product.weights = UnsafePointer(weights.pointer + blocks.lowerBound * inputs * block)
            product.bias = UnsafePointer(bias.pointer + blocks.lowerBound * block)
            product.output = products
            (product.output_block_stride, product.output_pixel_stride) = (stride, block)
            product.output_width = Int32(count)
            (product.kernel_height, product.kernel_width) = (1, 1)
            kernels.table.convolve(&product, 0, Int32(blocks.count), 0, 1)
        case .quantized(let weights, _):
            var product = lk_quantized_convolution()
            product.input = UnsafePointer(UnsafeMutableRawPointer(packed).assumingMemoryBound(to: UInt8.self))
            (product.input_block_stride, product.pixel_step) = (stride, block)
            product.input_blocks = Int32(paddedInputs / block)
            product.output = products
            product.output_block_stride = stride
            product.output_width = Int32(count)
            (product.kernel_height, product.kernel_width) = (1, 1)
            weights.apply(to: &product, from: blocks.lowerBound)
            kernels.table.convolve_quantized(&product, 0, Int32(blocks.count), 0, 1)
        }
    }

    /// Writes the results of some blocks of outputs.
    private func finish(
        _ products: UnsafePointer<Float>, _ count: Int, _ blocks: Range<Int>, _ lines: Lines,
        units: UnsafePointer<Float>, _ pass: LayerPass
    ) {
        let first = blocks.lowerBound * Self.block
        let offset = lines.rows.lowerBound * outputs + first
        var results = lk_line_results()
        results.products = products + lines.place * Self.block
        results.block_stride = count * Self.block
        results.count = min(blocks.upperBound * Self.block, outputs) - first
        if isQuantized {
            results.units = units + lines.place
            results.bias = UnsafePointer(bias.pointer + first)
        }
        if addsInput { results.residual = UnsafePointer(pass.input(1).floats(lines.image) + offset) }
        results.output = pass.output.floats(lines.image) + offset
        results.output_stride = outputs
        guard let activation else { return pass.kernels.table.finish_lines(&results, lines.rows.count) }
        withUnsafePointer(to: activation.kernel) {
            results.activation = $0
            pass.kernels.table.finish_lines(&results, lines.rows.count)
        }
    }
}
