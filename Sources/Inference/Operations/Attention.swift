import CKernels
import Compute

/// softmax(factor · q · kᵀ + mask) · v for each head; the scores are never stored as a whole.
///
/// No graph has it: ``LayerFusion`` makes it of products and a softmax. Following Dao et al., "FlashAttention: Fast and
/// Memory-Efficient Exact Attention with IO-Awareness" (NeurIPS 2022), but for some rows with all keys at once, as the
/// scores of a few rows fit a cache.
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
    private let zeros: AlignedFloats

    /// Rows whose scores are found together: two tiles of the widest kernel.
    private static let mostTogether = 28

    /// - Parameters:
    ///   - q: [heads …][rows][depth]
    ///   - k: [heads …][depth][keys]
    ///   - v: [heads …][keys][columns]
    ///   - mask: the extents of what is added to the scores.
    /// - Returns: nil if the kernels cannot read these.
    init?(q: ArrayView, k: ArrayView, v: ArrayView, factor: Float, mask: [Int]?, outputShape: TensorShape) {
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
        let packed = paddedKeys * depth + TensorShape.padded(width) * keys
        return heads.count
            * (rows * packed + TensorShape.operationCount(ofElements: packed + 7 * rows * keys + rows * width))
    }
    var tableBytes: Int {
        heads.count * MemoryLayout<(q: Int, k: Int, v: Int, mask: Int, output: Int)>.stride
            + zeros.count * MemoryLayout<Float>.stride
    }
    var summary: String { "attention, \(heads.count) heads" + (hasMask ? ", mask" : "") }
    var parts: Int { heads.count }
    private var paddedKeys: Int { TensorShape.padded(keys) }
    /// Not a power of two, which would make rows share the same few lines of a cache.
    private var scoreStride: Int { paddedKeys + TensorShape.channelBlock }
    private var scoreCount: Int { Self.mostTogether * scoreStride }
    var scratchCount: Int {
        scoreCount + paddedKeys * depth + TensorShape.padded(width) * keys
            + Self.mostTogether * TensorShape.channelBlock
    }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        for image in 0..<pass.batch {
            for part in parts { run(part, image: image, in: pass) }
        }
    }

    private func run(_ part: Int, image: Int, in pass: LayerPass) {
        let head = heads[part]
        let scores = pass.scratch
        let packedKeys = scores + scoreCount
        let packedValues = packedKeys + paddedKeys * depth
        let rest = packedValues + TensorShape.padded(width) * keys
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
}
