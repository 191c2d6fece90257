import CKernels
import Compute

extension NetworkGraph {
    /// An operation on two tensors, element by element. Extents of 1 are repeated, and missing first axes are 1. A map
    /// is combined with a map, and an array with an array.
    public struct Combination: RunnableOperation {
        /// The operation on two elements.
        public enum Operator: String, Sendable, Codable, CaseIterable {
            /// Left plus right.
            case add
            /// Left minus right.
            case subtract
            /// Left times right.
            case multiply
            /// Left divided by right.
            case divide
            /// The larger.
            case maximum
            /// The smaller.
            case minimum
            /// Left to the power of right.
            case power
            /// Left; below zero, times right.
            case prelu
        }

        /// The operation on two elements.
        public var `operator`: Operator
        /// The node of the right side.
        public var other: String

        /// An operation with a right side.
        public init(_ operator: Operator, other: String) { (self.operator, self.other) = (`operator`, other) }

        enum CodingKeys: String, CodingKey, CaseIterable { case `operator`, other }

        static let names = ["combine"]
        var otherInputs: [String] { [other] }
        /// Codes are not fine enough for quotients and powers, whose values may differ by orders of magnitude.
        var int8: Int8Rules {
            switch self.operator {
            case .add, .subtract, .multiply, .maximum, .minimum: Int8Rules(readsCodes: true, writesCodes: true)
            case .divide, .power, .prelu: Int8Rules()
            }
        }
        func kind(of input: TensorKind) -> TensorKind { input == .map ? .map : .other }
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try CombinationLayer(self, description)
        }
    }
}

/// An operation on two maps or two arrays, element by element, with extents of 1 repeated.
struct CombinationLayer: Layer {
    let outputShape: TensorShape
    let combination: NetworkGraph.Combination
    /// How the elements of two arrays are walked through together; nil for maps.
    private let walk: BroadcastWalk?

    init(_ combination: NetworkGraph.Combination, _ description: LayerDescription) throws(ModelError.Reason) {
        let (left, right) = (description.input, description.others[0])
        self.combination = combination
        let words = "combines \(left.description) with \(right.description)"
        switch (left, right) {
        case (.map(let a, let width, let height), .map(let b, let otherWidth, let otherHeight)):
            guard let channels = Self.common(a, b), let width = Self.common(width, otherWidth),
                let height = Self.common(height, otherHeight)
            else { throw description.problem(words) }
            outputShape = .map(channels: channels, width: width, height: height)
            walk = nil
        case (.vector, .vector), (.vector, .array), (.array, .vector), (.array, .array):
            guard let walk = BroadcastWalk(left.extents, right.extents) else { throw description.problem(words) }
            try description.elementCount(walk.extents)
            outputShape = TensorShape(extents: walk.extents)
            self.walk = walk
        default: throw description.problem(words + ", but both have to be maps or arrays")
        }
    }

    private static func common(_ a: Int, _ b: Int) -> Int? { a == b || b == 1 ? a : a == 1 ? b : nil }

    var summary: String { "\(combination.operator.rawValue) \(combination.other)" }
    var multiplyAdds: Int { outputShape.elementCount }
    var operationCount: Int { TensorShape.operationCount(ofElements: 3 * outputShape.elementCount) }
    var parts: Int { walk == nil ? ElementParts.count(outputShape) : 1 }
    /// Rows of a block of both sides and of the result, for tensors in int8.
    var scratchCount: Int { walk == nil ? 3 * rowsAtMost * rowCount : 0 }
    private var rowCount: Int { outputShape.width * TensorShape.channelBlock }
    /// The number of rows that fit into the first-level cache at once, in all three maps.
    private var rowsAtMost: Int { max(1, min(outputShape.height, 2048 / rowCount)) }

    /// Whether the rows of both sides follow each other; a side may have one pixel instead.
    private func areConsecutive(_ sides: [TensorSlot], _ output: TensorSlot) -> Bool {
        output.layout.border == 0
            && sides.allSatisfy {
                let shape = $0.layout.shape
                return $0.layout.border == 0 && shape.width == outputShape.width && shape.height == outputShape.height
                    || shape.width == 1 && shape.height == 1
            }
    }

    private var operation: lk_combination {
        switch combination.operator {
        case .add: LK_ADD
        case .subtract: LK_SUBTRACT
        case .multiply: LK_MULTIPLY
        case .divide: LK_DIVIDE
        case .maximum: LK_MAXIMUM
        case .minimum: LK_MINIMUM
        case .power: LK_POWER
        case .prelu: LK_PRELU
        }
    }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        for image in 0..<pass.batch {
            let (left, right) = (pass.input(0), pass.input(1))
            if let walk {
                combine(walk, left.floats(image), right.floats(image), pass.output.floats(image), pass.kernels)
            } else {
                for block in parts {
                    combine(block: block, image, left, right, pass.output, pass.scratch, pass.kernels)
                }
            }
        }
    }

    private func combine(
        _ walk: BroadcastWalk, _ left: UnsafePointer<Float>, _ right: UnsafePointer<Float>,
        _ output: UnsafeMutablePointer<Float>, _ kernels: SIMDTarget
    ) {
        walk.forEachRow { first, second, to in
            let a = lk_operand(values: left + first, mode: walk.innerLeft == 0 ? LK_SAME_VALUE : LK_EACH)
            let b = lk_operand(values: right + second, mode: walk.innerRight == 0 ? LK_SAME_VALUE : LK_EACH)
            kernels.table.combine(operation, a, b, walk.innerCount, output + to)
        }
    }

    /// Sixteen channels of two maps.
    private func combine(
        block: Int, _ image: Int, _ left: TensorSlot, _ right: TensorSlot, _ output: TensorSlot,
        _ scratch: UnsafeMutablePointer<Float>, _ kernels: SIMDTarget
    ) {
        let channelBlock = TensorShape.channelBlock
        let (width, height) = (outputShape.width, outputShape.height)
        /// A single channel is spread over a block.
        func withRows(
            _ slot: TensorSlot, _ rows: Range<Int>, widened: UnsafeMutablePointer<Float>,
            _ body: (lk_operand) -> Void
        ) {
            let layout = slot.layout
            let ownBlock = layout.shape.channels == 1 && outputShape.channels > 1 ? 0 : block
            let line = slot.rows(
                layout.shape.height == 1 ? 0..<1 : rows, ofBlock: ownBlock, image: image, widened: widened,
                kernels: kernels)
            if layout.shape.channels == 1, outputShape.channels > 1 {
                let pixels = layout.shape.width
                if pixels == 1 { return body(lk_operand(values: line, mode: LK_SAME_VALUE)) }
                withUnsafeTemporaryAllocation(of: Float.self, capacity: pixels * channelBlock) { spread in
                    guard let start = spread.baseAddress else { return }
                    for pixel in 0..<pixels {
                        (start + pixel * channelBlock).initialize(
                            repeating: line[pixel * channelBlock], count: channelBlock)
                    }
                    body(lk_operand(values: start, mode: LK_EACH))
                }
            } else {
                let isOnePixel = layout.shape.width == 1 && (width > 1 || layout.shape.height == 1)
                body(lk_operand(values: line, mode: isOnePixel ? LK_SAME_BLOCK : LK_EACH))
            }
        }
        // A single channel is spread over a row.
        let isSpread = outputShape.channels > 1 && [left, right].contains { $0.layout.shape.channels == 1 }
        let together = !isSpread && areConsecutive([left, right], output) ? rowsAtMost : 1
        for first in stride(from: 0, to: height, by: together) {
            let rows = first..<min(first + together, height)
            withRows(left, rows, widened: scratch) { a in
                withRows(right, rows, widened: scratch + rowsAtMost * rowCount) { b in
                    output.writeRows(
                        rows, ofBlock: block, image: image, scratch: scratch + 2 * rowsAtMost * rowCount,
                        kernels: kernels
                    ) { kernels.table.combine(operation, a, b, rows.count * width * channelBlock, $0) }
                }
            }
        }
    }
}
