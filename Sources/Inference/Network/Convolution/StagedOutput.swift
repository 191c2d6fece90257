import CKernels
import Compute

/// A part of a convolution's output in float32, before it is quantized.
struct StagedOutput: Sendable {
    private let parameters: QuantizationParameters
    private let activation: NetworkGraph.Activation?
    private let width: Int
    /// 16 KB, half of the first-level cache.
    private static let cachedFloats = 4096

    /// - Parameters:
    ///   - parameters: what the codes of the output stand for.
    ///   - width: of a row of the output, in pixels.
    init(_ parameters: QuantizationParameters, activation: NetworkGraph.Activation?, width: Int) {
        (self.parameters, self.activation, self.width) = (parameters, activation, width)
    }

    /// A float32 tensor of which only a region of blocks and rows is in memory, from `memory` on.
    func slot(
        _ blocks: Range<Int32>, _ rows: Range<Int32>, shape: TensorShape, memory: UnsafeMutablePointer<Float>
    ) -> LayerTensors.Slot {
        let layout = TensorLayout(shape: shape, rowsInMemory: rows.count)
        let first = Int(blocks.lowerBound) * layout.blockStride + Int(rows.lowerBound) * layout.rowStride
        // Where the tensor would begin; nothing before `memory` is read or written.
        let address = UInt(bitPattern: memory) &- UInt(first * MemoryLayout<Float>.stride)
        guard let base = UnsafeMutablePointer<Float>(bitPattern: address) else {
            preconditionFailure("memory at \(memory) is before the tensor that it belongs to")
        }
        return LayerTensors.Slot(base: base, imageStride: 0, layout: layout)
    }

    /// Applies the activation to the region in `memory`, and writes its codes.
    func quantize(
        _ blocks: Range<Int32>, _ rows: Range<Int32>, in memory: UnsafeMutablePointer<Float>,
        to output: LayerTensors.Slot, image: Int, kernels: SIMDTarget
    ) {
        let rowCount = width * TensorShape.channelBlock
        let layout = output.layout
        // As many rows as the first-level cache holds between the activation and the codes; those without a border
        // between them at once.
        let together = max(1, min(rows.count, Self.cachedFloats / rowCount))
        let joined = layout.border == 0 ? together : 1
        let function = activation.map(\.kernel)
        var from = memory
        for block in blocks {
            let codes = output.bytes(image) + layout.origin + Int(block) * layout.blockStride
            for first in stride(from: Int(rows.lowerBound), to: Int(rows.upperBound), by: together) {
                let end = min(first + together, Int(rows.upperBound))
                if var function { kernels.table.activate(&function, from, (end - first) * rowCount, from) }
                for row in stride(from: first, to: end, by: joined) {
                    let count = min(joined, end - row) * rowCount
                    kernels.table.quantize(
                        from, 1 / parameters.scale, parameters.zeroPoint, count, codes + row * layout.rowStride)
                    from += count
                }
            }
        }
    }
}
