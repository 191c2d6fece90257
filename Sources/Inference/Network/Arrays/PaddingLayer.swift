import Compute

/// An array with elements added around it.
struct PaddingLayer: Layer {
    let name: String
    let inputs: [String]
    let outputShape: TensorShape
    let scratchCount: Int
    private let value: Float
    /// Of each axis: which index of the input each index of the output has; −1 for none.
    private let sources: [[Int]]
    private let inputExtents: [Int]

    init(_ padding: NetworkGraph.ArrayPadding, _ description: LayerDescription) throws(ModelError.Reason) {
        try description.checkIsNoImage()
        let extents = description.input.extents
        guard !extents.isEmpty, padding.before.count == extents.count, padding.after.count == extents.count else {
            throw description.problem("pads \(padding.before.count) axes of \(description.input.description)")
        }
        guard padding.value.isFinite else { throw description.problem("pads with \(padding.value)") }
        var sources: [[Int]] = []
        for (axis, extent) in extents.enumerated() {
            // A place is kept for each index of an axis.
            _ = try description.checked(extent, "extent", in: 1...(1 << 20))
            // Negative padding crops.
            let before = try description.checked(padding.before[axis], "padding", in: -extent...4096)
            let after = try description.checked(padding.after[axis], "padding", in: -extent...4096)
            guard extent + before + after > 0 else { throw description.problem("leaves nothing of axis \(axis)") }
            sources.append(
                (-before..<(extent + after)).map { index in
                    switch padding.mode {
                    case .constant: (0..<extent).contains(index) ? index : -1
                    case .edge: min(max(index, 0), extent - 1)
                    case .reflect: Self.reflected(index, extent)
                    }
                })
        }
        let shape = sources.map(\.count)
        _ = try description.elementCount(shape)
        name = description.node.name
        inputs = [description.node.input]
        outputShape = TensorShape(extents: shape)
        scratchCount = description.input.rowMajorScratch
        value = padding.value
        self.sources = sources
        inputExtents = extents
    }

    /// Back and forth between the first and the last of `extent` elements.
    private static func reflected(_ index: Int, _ extent: Int) -> Int {
        guard extent > 1 else { return 0 }
        let period = 2 * (extent - 1)
        let place = (index % period + period) % period
        return place < extent ? place : period - place
    }

    var operationCount: Int { TensorShape.operationCount(ofElements: 2 * (scratchCount + outputShape.elementCount)) }
    var tableBytes: Int { sources.reduce(0) { $0 + $1.count } * MemoryLayout<Int>.stride }
    var summary: String { "padded" }

    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget
    ) {
        for image in 0..<batch {
            let source = tensors.input.rowMajor(image, scratch: scratch)
            var to = tensors.output.floats(image)
            func copy(_ axis: Int, _ from: Int) {
                let isLast = axis == sources.count - 1
                for index in sources[axis] {
                    let place = from < 0 || index < 0 ? -1 : from * inputExtents[axis] + index
                    if isLast {
                        to.pointee = place < 0 ? value : source[place]
                        to += 1
                    } else {
                        copy(axis + 1, place)
                    }
                }
            }
            copy(0, 0)
        }
    }
}
