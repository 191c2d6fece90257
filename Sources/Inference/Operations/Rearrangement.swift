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
struct RearrangementLayer: Layer {
    let outputShape: TensorShape
    let scratchCount: Int
    let isReshape: Bool
    /// Where the elements come from.
    let view: ArrayView
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
        view = ArrayView(extents: shape, strides: strides, offset: offset)
        let coalesced = view.coalesced
        isReshape =
            description.input.isRowMajor && available == outputShape.elementCount
            && coalesced == ArrayView(extents: shape).coalesced
        let axes = zip(coalesced.extents, coalesced.strides).reversed().map { (count: $0, stride: $1) }
        self.axes = axes.isEmpty ? [(1, 1)] : axes
    }

    var operationCount: Int { TensorShape.operationCount(ofElements: 2 * (scratchCount + outputShape.elementCount)) }
    var summary: String { isReshape ? "reshaped" : "rearranged" }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        guard !isReshape else { return }
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

/// Where the elements of an array are in another one.
package struct ArrayView: Equatable {
    package var extents: [Int]
    package var strides: [Int]
    package var offset = 0

    package init(extents: [Int], strides: [Int], offset: Int) {
        (self.extents, self.strides, self.offset) = (extents, strides, offset)
    }

    /// An array in row-major order.
    package init(extents: [Int]) {
        self.extents = extents
        strides = extents.indices.map { extents[($0 + 1)...].reduce(1, *) }
    }

    /// Where an element is whose indices along the last axes are 0.
    package func offset(_ index: [Int]) -> Int { offset + zip(index, strides).reduce(0) { $0 + $1.0 * $1.1 } }

    /// The view with as few axes as possible: those that go on where the next one ends are part of it.
    var coalesced: ArrayView {
        var view = ArrayView(extents: [], strides: [], offset: offset)
        for (extent, stride) in zip(extents, strides) where extent > 1 {
            if let last = view.strides.last, last == stride * extent {
                view.extents[view.extents.count - 1] *= extent
                view.strides[view.strides.count - 1] = stride
            } else {
                view.extents.append(extent)
                view.strides.append(stride)
            }
        }
        return view
    }

    /// This view of the elements of another one, as a view of what that one views; nil if no strides describe it.
    package func of(_ other: ArrayView) -> ArrayView? {
        let inner = other.coalesced
        let row = ArrayView(extents: inner.extents)
        func digits(_ place: Int) -> [Int] { zip(row.strides, inner.extents).map { place / $0 % $1 } }
        // Along an axis the index of each axis of the other view grows by a constant. None may pass its end.
        var last = digits(offset)
        var result = ArrayView(extents: extents, strides: [], offset: inner.offset)
        result.offset += zip(last, inner.strides).reduce(0) { $0 + $1.0 * $1.1 }
        for (extent, stride) in zip(extents, strides) {
            guard stride >= 0 || extent == 1 else { return nil }
            let steps = extent == 1 ? inner.extents.map { _ in 0 } : digits(stride)
            result.strides.append(zip(steps, inner.strides).reduce(0) { $0 + $1.0 * $1.1 })
            for (axis, step) in steps.enumerated() { last[axis] += step * (extent - 1) }
        }
        return zip(last, inner.extents).allSatisfy { $0 < $1 } ? result : nil
    }
}
