/// How windows lie on a map: those of a convolution or of pooling.
struct WindowGeometry {
    /// The number of windows.
    let outputs: NetworkGraph.Extent

    /// - Parameter roundsUp: whether a last window that covers the map in part counts.
    init(
        kernel: NetworkGraph.Extent, stride: NetworkGraph.Extent, padding: NetworkGraph.Padding,
        dilation: NetworkGraph.Extent, roundsUp: Bool = false, _ description: LayerDescription
    ) throws(ModelError.Reason) {
        func checked(
            _ extent: NetworkGraph.Extent, _ key: String, in range: ClosedRange<Int>
        ) throws(ModelError.Reason) {
            _ = try description.checked(extent.height, key, in: range)
            _ = try description.checked(extent.width, key, in: range)
        }
        try checked(kernel, "kernel", in: 1...4096)
        try checked(stride, "stride", in: 1...4096)
        try checked(dilation, "dilation", in: 1...4096)
        for side in padding.all { _ = try description.checked(side, "padding", in: 0...4096) }
        let input = description.input
        func count(
            _ size: Int, _ before: Int, _ after: Int, _ kernel: Int, _ stride: Int, _ dilation: Int
        ) throws(ModelError.Reason) -> Int {
            let span = (kernel - 1) * dilation + 1
            guard size + before + after >= span else {
                throw description.problem("has a kernel of \(span), larger than its input \(input.description)")
            }
            let free = size + before + after - span
            guard roundsUp else { return free / stride + 1 }
            let count = (free + stride - 1) / stride + 1
            // A window has to start inside the map or before it.
            return (count - 1) * stride < size + before ? count : count - 1
        }
        outputs = NetworkGraph.Extent(
            height: try count(
                input.height, padding.top, padding.bottom, kernel.height, stride.height, dilation.height),
            width: try count(input.width, padding.left, padding.right, kernel.width, stride.width, dilation.width))
    }
}
