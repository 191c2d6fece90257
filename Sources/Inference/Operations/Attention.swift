import CKernels
import Compute

/// softmax(factor · q · kᵀ + mask) · v for each head; the scores are never stored as a whole.
///
/// No graph has it: ``LayerFusion`` makes it of products and a softmax. Following Dao et al., "FlashAttention: Fast and
/// Memory-Efficient Exact Attention with IO-Awareness" (NeurIPS 2022), but for some rows with all keys at once, as the
/// scores of a few rows fit a cache.
///
/// In int8 each row of q, each key and each column of v has a step of its own, and so do the shares of a row: the
/// largest has the code 255. The function between both products is float32.
struct AttentionLayer: Layer {
    private(set) var outputShape: TensorShape
    private let rows: Int
    private let depth: Int
    private let keys: Int
    private let width: Int
    private let factor: Float
    /// The axes of the heads, then rows and columns of the result, and where they are in it.
    private var output: ArrayView
    /// Where each head begins.
    private var heads: [(q: Int, k: Int, v: Int, mask: Int, output: Int)] = []
    /// How far apart rows are.
    private let strides: (q: Int, v: Int, mask: Int)
    private let k: (depthStride: Int, keyStride: Int)
    private let hasMask: Bool
    private let isQuantized: Bool
    private let zeros: AlignedFloats

    /// Rows whose scores are found together: two tiles of the widest kernel.
    private static let mostTogether = 28

    /// - Parameters:
    ///   - q: [heads …][rows][depth]
    ///   - k: [heads …][depth][keys]
    ///   - v: [heads …][keys][columns]
    ///   - quantizes: whether products are those of int8, if the kernels can pack these.
    ///   - mask: the extents of what is added to the scores.
    /// - Returns: nil if the kernels cannot read these.
    init?(
        q: ArrayView, k: ArrayView, v: ArrayView, factor: Float, quantizes: Bool, mask: [Int]?, outputShape: TensorShape
    ) {
        let extents = outputShape.extents
        let outer = Array(extents.dropLast(2))
        guard extents.count >= 2, [q, k, v].allSatisfy({ $0.extents.count == extents.count }),
            [q, k, v].allSatisfy({ Array($0.extents.dropLast(2)) == outer })
        else { return nil }
        let axes = (row: extents.count - 2, column: extents.count - 1)
        (rows, width) = (extents[axes.row], extents[axes.column])
        (depth, keys) = (k.extents[axes.row], k.extents[axes.column])
        guard q.extents[axes.row...] == [rows, depth], v.extents[axes.row...] == [keys, width],
            q.strides[axes.column] == 1, v.strides[axes.column] == 1,
            k.strides[axes.row] == 1 || k.strides[axes.column] == 1
        else { return nil }
        // A mask is repeated along axes that it lacks.
        let missing = mask.map { extents.count - $0.count } ?? 0
        let all = Array(repeating: 1, count: max(missing, 0)) + (mask ?? [1, 1])
        guard missing >= 0, mask == nil || all[axes.column] == keys,
            mask == nil || zip(all, outer + [rows]).allSatisfy({ $0 == $1 || $0 == 1 })
        else { return nil }
        let maskStrides = zip(all, ArrayView(extents: all).strides).map { $0 == 1 ? 0 : $1 }
        strides = (q.strides[axes.row], v.strides[axes.row], mask == nil ? 0 : maskStrides[axes.row])
        self.k = (k.strides[axes.row], k.strides[axes.column])
        self.factor = factor
        isQuantized =
            quantizes && k.strides[axes.row] == 1 && depth % TensorShape.channelBlock == 0
            && max(depth, keys) <= QuantizedWeights.mostProducts
        hasMask = mask != nil
        self.outputShape = outputShape
        zeros = AlignedFloats(count: max(TensorShape.padded(keys), TensorShape.padded(width)))
        let (masks, result) = (
            ArrayView(extents: extents, strides: maskStrides, offset: 0), ArrayView(extents: extents)
        )
        output = result
        heads = Self.indices(outer).map { index in
            (
                q.offset(index), k.offset(index), v.offset(index), mask == nil ? 0 : masks.offset(index),
                result.offset(index)
            )
        }
    }

    /// All indices of some axes, the last one fastest.
    private static func indices(_ extents: [Int]) -> [[Int]] {
        extents.reduce([[]]) { indices, extent in indices.flatMap { index in (0..<extent).map { index + [$0] } } }
    }

    /// The same layer with its result in another order; nil if that is not all of it, or its columns move apart.
    func writing(as rearranged: RearrangementLayer) -> AttentionLayer? {
        let view = rearranged.view
        guard view.offset == 0, view.extents.reduce(1, *) == outputShape.elementCount else { return nil }
        let target = ArrayView(extents: view.extents)
        var layer = self
        layer.outputShape = rearranged.outputShape
        for (axis, extent) in output.extents.enumerated() where extent > 1 {
            let place = view.extents.indices.first {
                view.extents[$0] == extent && view.strides[$0] == output.strides[axis]
            }
            guard let place else { return nil }
            layer.output.strides[axis] = target.strides[place]
        }
        for (head, index) in Self.indices(Array(output.extents.dropLast(2))).enumerated() {
            layer.heads[head].output = layer.output.offset(index)
        }
        return layer.output.strides.last == 1 ? layer : nil
    }

    var multiplyAdds: Int { heads.count * rows * keys * (depth + width) }
    /// The products, with the packing of keys and values; and of each score the factor, the mask, the largest, the
    /// difference to it, its exponential, their sum and the quotient.
    var operationCount: Int {
        let packed = paddedKeys * depth + paddedWidth * keys
        return heads.count
            * (rows * packed + TensorShape.operationCount(ofElements: packed + 7 * rows * keys + rows * width))
    }
    var tableBytes: Int {
        heads.count * MemoryLayout<(q: Int, k: Int, v: Int, mask: Int, output: Int)>.stride
            + zeros.count * MemoryLayout<Float>.stride
    }
    var summary: String {
        "attention, \(heads.count) heads" + (hasMask ? ", mask" : "") + (isQuantized ? ", int8" : "")
    }
    var parts: Int { heads.count }
    private var paddedKeys: Int { TensorShape.padded(keys) }
    private var paddedWidth: Int { TensorShape.padded(width) }
    /// Not a power of two, which would make rows share the same few lines of a cache.
    private var scoreStride: Int { paddedKeys + TensorShape.channelBlock }
    private var scoreCount: Int { Self.mostTogether * scoreStride }
    var scratchCount: Int {
        guard isQuantized else {
            return scoreCount + paddedKeys * depth + paddedWidth * keys + Self.mostTogether * TensorShape.channelBlock
        }
        let together = Self.mostTogether
        let codes = paddedKeys * (depth + paddedWidth + together) + together * depth
        return 2 * paddedKeys + paddedWidth + together * (paddedKeys + paddedWidth + 1) + codes / 4
    }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        for image in 0..<pass.batch {
            for part in parts {
                if isQuantized {
                    multiplyCodes(part, image: image, in: pass)
                } else {
                    run(part, image: image, in: pass)
                }
            }
        }
    }

    private func run(_ part: Int, image: Int, in pass: LayerPass) {
        let head = heads[part]
        let scores = pass.scratch
        let packedKeys = scores + scoreCount
        let packedValues = packedKeys + paddedKeys * depth
        let rest = packedValues + paddedWidth * keys
        let from = pass.input(1).floats(image) + head.k
        if k.depthStride == 1 {
            pass.kernels.table.pack_lines(from, k.keyStride, keys, depth, packedKeys)
        } else {
            MatrixKernel(rows: rows, depth: depth, columns: keys).pack(from, stride: k.depthStride, to: packedKeys)
        }
        MatrixKernel(rows: rows, depth: keys, columns: width)
            .pack(pass.input(2).floats(image) + head.v, stride: strides.v, to: packedValues)
        let mask = hasMask ? pass.input(3).floats(image) + head.mask : nil
        let rowStride = output.strides[output.strides.count - 2]
        let target = pass.output.floats(image) + head.output
        let chunks = (rows + Self.mostTogether - 1) / Self.mostTogether
        for chunk in 0..<chunks {
            let own = (0..<rows).part(chunk, of: chunks)
            MatrixKernel(
                rows: own.count, depth: depth, columns: paddedKeys, leftStride: strides.q, outputStride: scoreStride
            ).run(
                pass.input(0).floats(image) + head.q + own.lowerBound * strides.q, packedKeys,
                blocks: 0..<(paddedKeys / TensorShape.channelBlock), bias: zeros.pointer, to: scores, scratch: rest,
                kernels: pass.kernels)
            for (index, row) in own.enumerated() {
                pass.kernels.table.softmax(
                    scores + index * scoreStride, keys, factor, mask.map { $0 + row * strides.mask })
            }
            let values = MatrixKernel(
                rows: own.count, depth: keys, columns: width, leftStride: scoreStride, outputStride: rowStride)
            values.run(
                scores, packedValues, blocks: 0..<values.blocks, bias: zeros.pointer,
                to: target + own.lowerBound * rowStride, scratch: rest, kernels: pass.kernels)
        }
    }

    /// The same with products of int8.
    private func multiplyCodes(_ part: Int, image: Int, in pass: LayerPass) {
        let (head, table, block) = (heads[part], pass.kernels.table, TensorShape.channelBlock)
        var free = UnsafeMutableRawPointer(pass.scratch)
        func take<Number>(_ count: Int, _: Number.Type) -> UnsafeMutablePointer<Number> {
            defer { free += count * MemoryLayout<Number>.stride }
            return free.assumingMemoryBound(to: Number.self)
        }
        let keyCodes = take(paddedKeys * depth, Int8.self)
        let valueCodes = take(paddedKeys * paddedWidth, Int8.self)
        let shares = take(Self.mostTogether * paddedKeys, UInt8.self)
        let lines = take(Self.mostTogether * depth, UInt8.self)
        let (keyScales, keyBias) = (take(paddedKeys, Float.self), take(paddedKeys, Float.self))
        let valueScales = take(paddedWidth, Float.self)
        let scores = take(Self.mostTogether * paddedKeys, Float.self)
        let products = take(Self.mostTogether * paddedWidth, Float.self)
        let units = take(Self.mostTogether, Float.self)
        table.pack_quantized_lines(
            pass.input(1).floats(image) + head.k, k.keyStride, keys, depth, keyCodes, keyScales, keyBias)
        table.pack_quantized_columns(
            pass.input(2).floats(image) + head.v, strides.v, keys, width, valueCodes, valueScales)
        let mask = hasMask ? pass.input(3).floats(image) + head.mask : nil
        let chunks = (rows + Self.mostTogether - 1) / Self.mostTogether
        for chunk in 0..<chunks {
            let own = (0..<rows).part(chunk, of: chunks)
            // Blocks of sixteen codes or numbers, for all rows.
            let stride = own.count * block
            var product = lk_quantized_convolution()
            (product.input_block_stride, product.pixel_step) = (stride, block)
            product.output_block_stride = stride
            product.output_width = Int32(own.count)
            (product.kernel_height, product.kernel_width) = (1, 1)
            for (index, row) in own.enumerated() {
                let line = pass.input(0).floats(image) + head.q + row * strides.q
                units[index] = table.quantize_line(line, depth, stride, lines + index * block)
            }
            product.input = UnsafePointer(lines)
            product.input_blocks = Int32(depth / block)
            (product.weights, product.scales) = (UnsafePointer(keyCodes), UnsafePointer(keyScales))
            product.bias = UnsafePointer(keyBias)
            product.output = scores
            table.convolve_quantized(&product, 0, Int32(paddedKeys / block), 0, 1)
            for (index, row) in own.enumerated() {
                units[index] = table.softmax_codes(
                    scores + index * block, stride, keys, factor * units[index], mask.map { $0 + row * strides.mask },
                    shares + index * block)
            }
            product.input = UnsafePointer(shares)
            product.input_blocks = Int32(paddedKeys / block)
            product.last_block_is_half = (1...(block / 2)).contains(keys % block)
            (product.weights, product.scales) = (UnsafePointer(valueCodes), UnsafePointer(valueScales))
            product.bias = UnsafePointer(zeros.pointer)
            product.output = products
            table.convolve_quantized(&product, 0, Int32(paddedWidth / block), 0, 1)
            var results = lk_line_results()
            (results.products, results.block_stride, results.count) = (UnsafePointer(products), stride, width)
            results.units = UnsafePointer(units)
            results.output_stride = output.strides[output.strides.count - 2]
            results.output = pass.output.floats(image) + head.output + own.lowerBound * results.output_stride
            table.finish_lines(&results, own.count)
        }
    }
}
