import Compute

/// An array of another shape or order: reshaped, transposed, sliced, or repeated.
struct RearrangementLayer: Layer {
    let name: String
    let inputs: [String]
    let outputShape: TensorShape
    let scratchCount: Int
    private let offset: Int
    /// From the innermost axis on: how many elements, and how far apart they are in the input.
    private let axes: [(count: Int, stride: Int)]

    init(_ rearrangement: NetworkGraph.Rearrangement, _ description: LayerDescription) throws(ModelError.Reason) {
        let (shape, strides) = (rearrangement.shape, rearrangement.strides)
        guard shape.count == strides.count else {
            throw description.problem("has \(shape.count) extents and \(strides.count) strides")
        }
        _ = try description.elementCount(shape)
        try description.checkIsNoImage()
        let available = description.input.elementCount
        guard (0..<available).contains(rearrangement.offset) else {
            throw description.problem("reads beyond its input, \(description.input.description)")
        }
        // The first and the last element that are read. Neither overflows: there are few axes, and each reach is small.
        var (low, high) = (rearrangement.offset, rearrangement.offset)
        for (extent, stride) in zip(shape, strides) where extent > 1 {
            let (reach, overflow) = stride.multipliedReportingOverflow(by: extent - 1)
            guard !overflow, reach.magnitude <= available.magnitude else {
                throw description.problem("reads beyond its input, \(description.input.description)")
            }
            if reach < 0 { low += reach } else { high += reach }
        }
        guard low >= 0, high < available else {
            throw description.problem("reads beyond its input, \(description.input.description)")
        }
        name = description.node.name
        inputs = [description.node.input]
        outputShape = TensorShape(extents: shape)
        scratchCount = description.input.rowMajorScratch
        offset = rearrangement.offset
        var axes: [(count: Int, stride: Int)] = []
        for (extent, stride) in zip(shape, strides).reversed() where extent > 1 {
            if let last = axes.last, stride == last.stride * last.count {
                axes[axes.count - 1].count *= extent
            } else {
                axes.append((extent, stride))
            }
        }
        self.axes = axes.isEmpty ? [(1, 1)] : axes
    }

    var operationCount: Int { TensorShape.operationCount(ofElements: 2 * (scratchCount + outputShape.elementCount)) }
    var summary: String { "rearranged" }

    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget
    ) {
        for image in 0..<batch {
            let source = tensors.input.rowMajor(image, scratch: scratch) + offset
            var to = tensors.output.floats(image)
            func copy(_ axis: Int, _ from: UnsafePointer<Float>) {
                let (count, stride) = axes[axis]
                if axis > 0 {
                    for index in 0..<count { copy(axis - 1, from + index * stride) }
                    return
                }
                if stride == 1 {
                    to.update(from: from, count: count)
                } else {
                    for index in 0..<count { to[index] = from[index * stride] }
                }
                to += count
            }
            copy(axes.count - 1, source)
        }
    }
}
