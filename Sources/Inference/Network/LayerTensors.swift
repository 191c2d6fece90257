/// The memory that a layer reads and writes: one tensor per image, `count` floats apart.
struct LayerTensors {
    struct Slot {
        let base: UnsafeMutablePointer<Float>
        let layout: TensorLayout

        func floats(_ image: Int) -> UnsafeMutablePointer<Float> {
            precondition(layout.element == .float32, "the tensor is int8")
            return base + image * layout.count
        }

        func bytes(_ image: Int) -> UnsafeMutablePointer<UInt8> {
            precondition(layout.element == .uint8, "the tensor is float32")
            return UnsafeMutableRawPointer(base + image * layout.count).assumingMemoryBound(to: UInt8.self)
        }

        /// Writes the zeros around an image; the memory may have held another tensor.
        func clearBorder(_ image: Int) {
            switch layout.element {
            case .float32: layout.clearBorder(floats(image))
            case .uint8: layout.clearBorder(bytes(image))
            }
        }
    }

    let input: Slot
    let residual: Slot?
    let output: Slot
}
