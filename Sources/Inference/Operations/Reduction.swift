import Compute

extension NetworkGraph {
    /// A number for all elements along some axes.
    public struct Reduction: RunnableOperation {
        /// The number that is computed.
        public enum Function: String, Sendable, Codable, CaseIterable {
            /// The mean.
            case mean
            /// The sum.
            case sum
            /// The sum of the absolute values.
            case l1
            /// The Euclidean norm.
            case l2
            /// The sum of the squares.
            case squares
            /// The largest.
            case maximum
            /// The smallest.
            case minimum
            /// The place of the largest, the first of those that are equal.
            case placeOfMaximum = "place_of_maximum"
        }

        /// The number that is computed.
        public var function: Function
        /// The axes, from 0.
        public var axes: [Int]

        /// A number for all elements along some axes.
        public init(_ function: Function, axes: [Int]) { (self.function, self.axes) = (function, axes) }

        enum CodingKeys: String, CodingKey, CaseIterable { case function, axes }

        static let names = ["reduce"]
        var int8: Int8Rules { Int8Rules(readsCodes: true) }
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try ReductionLayer(self, description)
        }
    }
}

/// Sums and the like over axes of an array, which get the extent 1.
private struct ReductionLayer: Layer {
    let outputShape: TensorShape
    let scratchCount: Int
    private let function: NetworkGraph.Reduction.Function
    /// The axes of the result, outermost first: extent, and distance in the input.
    private let kept: [(count: Int, stride: Int)]
    /// The axes that are reduced.
    private let reduced: [(count: Int, stride: Int)]

    init(_ reduction: NetworkGraph.Reduction, _ description: LayerDescription) throws(ModelError.Reason) {
        try description.checkIsNoImage()
        let extents = description.input.extents
        for axis in reduction.axes { _ = try description.checkedAxis(axis, of: extents) }
        if reduction.function == .placeOfMaximum, reduction.axes.count != 1 {
            throw description.problem("looks for a place along \(reduction.axes.count) axes")
        }
        var (kept, reduced): ([(count: Int, stride: Int)], [(count: Int, stride: Int)]) = ([], [])
        var stride = 1
        for (axis, extent) in extents.enumerated().reversed() {
            if reduction.axes.contains(axis) {
                reduced.insert((extent, stride), at: 0)
            } else {
                kept.insert((extent, stride), at: 0)
            }
            stride *= extent
        }
        outputShape = TensorShape(
            extents: extents.enumerated().map { reduction.axes.contains($0.offset) ? 1 : $0.element })
        scratchCount = description.input.rowMajorScratch
        function = reduction.function
        (self.kept, self.reduced) = (kept, reduced)
    }

    var operationCount: Int {
        let count = (kept + reduced).reduce(1) { $0 * $1.count }
        return TensorShape.operationCount(ofElements: 2 * (scratchCount + count))
    }
    var summary: String { "\(function.rawValue) over \(reduced.map(\.count).reduce(1, *))" }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        let count = reduced.map(\.count).reduce(1, *)
        for image in 0..<pass.batch {
            let source = pass.input.rowMajor(image, scratch: pass.scratch)
            var to = pass.output.floats(image)
            func walk(_ axis: Int, _ from: UnsafePointer<Float>) {
                guard axis < kept.count else {
                    to.pointee = result(from, count)
                    to += 1
                    return
                }
                for index in 0..<kept[axis].count { walk(axis + 1, from + index * kept[axis].stride) }
            }
            walk(0, source)
        }
    }

    private func result(_ from: UnsafePointer<Float>, _ count: Int) -> Float {
        var sum = 0.0
        var (largest, smallest) = (-Float.infinity, Float.infinity)
        var (place, placeOfLargest) = (0, 0)
        func walk(_ axis: Int, _ from: UnsafePointer<Float>) {
            guard axis < reduced.count else {
                let value = from.pointee
                switch function {
                case .mean, .sum: sum += Double(value)
                case .l1: sum += Double(abs(value))
                case .l2, .squares: sum += Double(value) * Double(value)
                case .maximum: largest = max(largest, value)
                case .minimum: smallest = min(smallest, value)
                case .placeOfMaximum:
                    if value > largest { (largest, placeOfLargest) = (value, place) }
                    place += 1
                }
                return
            }
            for index in 0..<reduced[axis].count { walk(axis + 1, from + index * reduced[axis].stride) }
        }
        walk(0, from)
        return switch function {
        case .mean: Float(sum / Double(count))
        case .sum, .l1, .squares: Float(sum)
        case .l2: Float(sum.squareRoot())
        case .maximum: largest
        case .minimum: smallest
        case .placeOfMaximum: Float(placeOfLargest)
        }
    }
}
