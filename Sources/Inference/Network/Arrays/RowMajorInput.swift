extension LayerTensors.Slot {
    /// The elements in row-major order: where they are, or, of a map, copied to `scratch`.
    func rowMajor(_ image: Int, scratch: UnsafeMutablePointer<Float>) -> UnsafePointer<Float> {
        guard !layout.shape.isRowMajor else { return UnsafePointer(floats(image)) }
        if let codes = layout.quantization {
            // From integers, as the kernels do.
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
            let plane =
                map + layout.origin + channel / TensorShape.channelBlock * layout.blockStride + channel
                % TensorShape.channelBlock
            for row in 0..<shape.height {
                let line = plane + row * layout.rowStride
                for column in 0..<shape.width { to[column] = value(line[column * layout.pixelStride]) }
                to += shape.width
            }
        }
    }
}

extension TensorShape {
    /// Floats of scratch memory that reading the tensor in row-major order takes.
    var rowMajorScratch: Int { isRowMajor ? 0 : elementCount }
}
