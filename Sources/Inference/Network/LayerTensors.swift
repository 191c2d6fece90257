/// The memory that a layer reads and writes: one tensor per image.
struct LayerTensors {
    struct Slot {
        let base: UnsafeMutablePointer<Float>
        let imageStride: Int
        let layout: TensorLayout

        func floats(_ image: Int) -> UnsafeMutablePointer<Float> {
            precondition(layout.element == .float32, "the tensor is int8")
            return base + image * imageStride
        }

        func bytes(_ image: Int) -> UnsafeMutablePointer<UInt8> {
            precondition(layout.element != .float32, "the tensor is float32")
            return UnsafeMutableRawPointer(base + image * imageStride).assumingMemoryBound(to: UInt8.self)
        }

        /// Writes the zeros around an image; the memory may have held another tensor.
        func clearBorder(_ image: Int) {
            switch layout.element {
            case .float32: layout.clearBorder(floats(image), zero: 0)
            case .uint8(let parameters): layout.clearBorder(bytes(image), zero: parameters.zeroPoint)
            }
        }
    }

    let workspace: Workspace
    let inputs: [TensorPlace]
    let output: Slot

    var input: Slot { input(0) }

    /// The same inputs, and other memory for the output.
    func writing(to output: Slot) -> LayerTensors {
        LayerTensors(workspace: workspace, inputs: inputs, output: output)
    }

    func input(_ index: Int) -> Slot { inputs[index].slot(in: workspace) }
}

/// Where a tensor is: in a workspace, or in a layer that holds it.
struct TensorPlace: Sendable {
    /// Of the tensor in a workspace, for one image.
    let offset: Int
    let layout: TensorLayout
    /// The tensor is the same for every image.
    let constant: AlignedFloats?

    func slot(in workspace: Workspace) -> LayerTensors.Slot {
        if let constant { return LayerTensors.Slot(base: constant.pointer, imageStride: 0, layout: layout) }
        return LayerTensors.Slot(
            base: workspace.memory.pointer + offset * workspace.batchCapacity, imageStride: layout.count, layout: layout
        )
    }
}

extension LayerTensors {
    /// The tensor that a convolution adds to its result.
    var residual: Slot? { inputs.count > 1 ? input(1) : nil }
}
