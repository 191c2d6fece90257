import Compute

extension NetworkGraph {
    /// Elements around an array.
    public struct ArrayPadding: RunnableOperation {
        /// The elements that are added.
        public enum Mode: String, Sendable, Codable, CaseIterable {
            /// A value.
            case constant
            /// The nearest element of the array.
            case edge
            /// The array mirrored at its first and last element.
            case reflect
        }

        /// The elements that are added.
        public var mode: Mode
        /// The value, for the mode `constant`.
        public var value: Float
        /// Elements before the array, per axis.
        public var before: [Int]
        /// Elements after the array, per axis.
        public var after: [Int]

        /// Elements around an array.
        public init(mode: Mode, value: Float = 0, before: [Int], after: [Int]) {
            (self.mode, self.value, self.before, self.after) = (mode, value, before, after)
        }

        enum CodingKeys: String, CodingKey, CaseIterable { case mode, value, before, after }

        static let names = ["pad"]
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try PaddingLayer(self, description)
        }
    }
}

/// An array with elements added around it.
private struct PaddingLayer: Layer {
    let outputShape: TensorShape
    let scratchCount: Int
    private let value: Float
    /// The index in the input of each index of the output, per axis; −1 for none.
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
        try description.elementCount(shape)
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

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        for image in 0..<pass.batch {
            let source = pass.input.rowMajor(image, scratch: pass.scratch)
            var to = pass.output.floats(image)
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
