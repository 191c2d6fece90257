import Compute

extension NetworkGraph {
    /// An array whose element (i, j, …) is the input's at `offset + i · strides[0] + j · strides[1] + …`, the input in
    /// row-major order.
    public struct Rearrangement: RunnableOperation {
        /// The shape of the output.
        public var shape: [Int]
        /// The strides of the axes of the output; may be zero or negative.
        public var strides: [Int]
        /// Where the first element comes from.
        public var offset: Int

        /// A shape and where its elements come from.
        public init(shape: [Int], strides: [Int], offset: Int = 0) {
            (self.shape, self.strides, self.offset) = (shape, strides, offset)
        }

        enum CodingKeys: String, CodingKey, CaseIterable { case shape, strides, offset }

        static let names = ["rearrange"]
        var int8: Int8Rules { Int8Rules(readsCodes: true) }
        func kind(of input: TensorKind) -> TensorKind { shape.count == 2 && shape[0] == 1 ? .vector : .other }
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try RearrangementLayer(self, description)
        }
    }
}

/// An array of another shape or order: reshaped, transposed, sliced, or repeated.
private struct RearrangementLayer: Layer {
    let outputShape: TensorShape
    let scratchCount: Int
    private let offset: Int
    /// The axes, innermost first: how many elements, and how far apart they are in the input.
    private let axes: [(count: Int, stride: Int)]

    init(_ rearrangement: NetworkGraph.Rearrangement, _ description: LayerDescription) throws(ModelError.Reason) {
        let (shape, strides) = (rearrangement.shape, rearrangement.strides)
        guard shape.count == strides.count else {
            throw description.problem("has \(shape.count) extents and \(strides.count) strides")
        }
        try description.elementCount(shape)
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

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        for image in 0..<pass.batch {
            let source = pass.input.rowMajor(image, scratch: pass.scratch) + offset
            var to = pass.output.floats(image)
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
