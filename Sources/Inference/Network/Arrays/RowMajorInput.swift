extension LayerTensors.Slot {
    /// The elements in row-major order: where they are, or, of a map, copied to `scratch`.
    func rowMajor(_ image: Int, scratch: UnsafeMutablePointer<Float>) -> UnsafePointer<Float> {
        let shape = layout.shape
        guard !shape.isRowMajor else { return UnsafePointer(floats(image)) }
        let source = floats(image) + layout.origin
        var to = scratch
        for channel in 0..<shape.channels {
            let plane =
                source + channel / TensorShape.channelBlock * layout.blockStride + channel % TensorShape.channelBlock
            for row in 0..<shape.height {
                let line = plane + row * layout.rowStride
                for column in 0..<shape.width { to[column] = line[column * layout.pixelStride] }
                to += shape.width
            }
        }
        return UnsafePointer(scratch)
    }
}

extension TensorShape {
    /// Floats of scratch memory that reading the tensor in row-major order takes.
    var rowMajorScratch: Int { isRowMajor ? 0 : elementCount }
}
