import CKernels
import Compute

/// What a layer computes with in a pass: its tensors, one per image, and scratch memory.
struct LayerPass {
    let workspace: Workspace
    let inputs: [TensorPlace]
    let output: TensorSlot
    /// The number of images.
    let batch: Int
    /// Memory that no other thread uses, with room for ``Layer/scratchCount`` floats.
    let scratch: UnsafeMutablePointer<Float>
    let kernels: SIMDTarget

    var input: TensorSlot { input(0) }
    /// The tensor that a convolution adds to its result.
    var residual: TensorSlot? { inputs.count > 1 ? input(1) : nil }

    func input(_ index: Int) -> TensorSlot { inputs[index].slot(in: workspace) }

    /// The same pass with other memory for the output.
    func writing(to output: TensorSlot) -> LayerPass {
        LayerPass(
            workspace: workspace, inputs: inputs, output: output, batch: batch, scratch: scratch, kernels: kernels)
    }
}

/// Where a tensor is: in a workspace, or in a layer that holds it.
struct TensorPlace: Sendable {
    /// The offset in a workspace for one image.
    let offset: Int
    let layout: TensorLayout
    /// The tensor is the same for every image.
    let constant: AlignedFloats?

    func slot(in workspace: Workspace) -> TensorSlot {
        if let constant { return TensorSlot(base: constant.pointer, imageStride: 0, layout: layout) }
        return TensorSlot(
            base: workspace.memory.pointer + offset * workspace.batchCapacity, imageStride: layout.count, layout: layout
        )
    }
}

/// The memory of a tensor, one after another for the images of a batch.
struct TensorSlot {
    let base: UnsafeMutablePointer<Float>
    let imageStride: Int
    let layout: TensorLayout
    /// The block and the row that the memory begins with; a region of a map has no memory for what comes before.
    var first = (block: 0, row: 0)

    func floats(_ image: Int) -> UnsafeMutablePointer<Float> {
        precondition(layout.element == .float32, "the tensor is int8")
        return base + image * imageStride
    }

    func bytes(_ image: Int) -> UnsafeMutablePointer<UInt8> {
        precondition(layout.element != .float32, "the tensor is float32")
        return UnsafeMutableRawPointer(base + image * imageStride).assumingMemoryBound(to: UInt8.self)
    }

    /// The distance of a row of a block of a map from the first element in memory.
    func offset(ofBlock block: Int, row: Int) -> Int {
        layout.origin + (block - first.block) * layout.blockStride + (row - first.row) * layout.rowStride
    }

    /// Writes the zeros around an image; the memory may have held another tensor.
    func clearBorder(_ image: Int) {
        switch layout.element {
        case .float32: layout.clearBorder(floats(image), zero: 0)
        case .uint8(let parameters): layout.clearBorder(bytes(image), zero: parameters.zeroPoint)
        }
    }
}

/// Maps for layers that compute in float32, whether the maps are int8 or not.
extension TensorSlot {
    /// Rows of a block of a map, sixteen values per pixel: where they are, or copied to `widened` for a map of codes.
    ///
    /// - Precondition: a map with a border is read row by row.
    func rows(
        _ rows: Range<Int>, ofBlock block: Int, image: Int, widened: UnsafeMutablePointer<Float>, kernels: SIMDTarget
    ) -> UnsafePointer<Float> {
        guard let codes = layout.quantization else { return UnsafePointer(floats(image) + offset(rows, block)) }
        kernels.table.dequantize(
            bytes(image) + offset(rows, block), codes.scale, codes.zeroPoint,
            rows.count * layout.shape.width * layout.pixelStride, widened)
        return UnsafePointer(widened)
    }

    /// Lets `body` write rows of a block of a map: where they belong, or to `scratch` for a map of codes.
    ///
    /// - Precondition: a map with a border is written row by row.
    func writeRows(
        _ rows: Range<Int>, ofBlock block: Int, image: Int, scratch: UnsafeMutablePointer<Float>, kernels: SIMDTarget,
        _ body: (UnsafeMutablePointer<Float>) -> Void
    ) {
        guard let codes = layout.quantization else { return body(floats(image) + offset(rows, block)) }
        body(scratch)
        kernels.table.quantize(
            scratch, 1 / codes.scale, codes.zeroPoint, rows.count * layout.shape.width * layout.pixelStride,
            bytes(image) + offset(rows, block))
    }

    private func offset(_ rows: Range<Int>, _ block: Int) -> Int {
        precondition(rows.count == 1 || layout.border == 0, "rows of a map with a border are not consecutive")
        return offset(ofBlock: block, row: rows.lowerBound)
    }

    /// The elements in row-major order: where they are, or copied to `scratch` for a map.
    func rowMajor(_ image: Int, scratch: UnsafeMutablePointer<Float>) -> UnsafePointer<Float> {
        guard !layout.shape.isRowMajor else { return UnsafePointer(floats(image)) }
        if let codes = layout.quantization {
            // Integers are subtracted first, as the kernels do.
            copy(bytes(image), to: scratch) { Float(Int($0) - Int(codes.zeroPoint)) * codes.scale }
        } else {
            copy(floats(image), to: scratch) { $0 }
        }
        return UnsafePointer(scratch)
    }

    /// Copies the elements of a map in row-major order.
    private func copy<Element>(
        _ map: UnsafeMutablePointer<Element>, to scratch: UnsafeMutablePointer<Float>, value: (Element) -> Float
    ) {
        let shape = layout.shape
        var to = scratch
        for channel in 0..<shape.channels {
            let (block, lane) = channel.quotientAndRemainder(dividingBy: TensorShape.channelBlock)
            for row in 0..<shape.height {
                let line = map + offset(ofBlock: block, row: row) + lane
                for column in 0..<shape.width { to[column] = value(line[column * layout.pixelStride]) }
                to += shape.width
            }
        }
    }
}
