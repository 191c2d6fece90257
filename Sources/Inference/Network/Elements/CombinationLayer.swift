import CKernels
import Compute

/// An operation on two maps or two arrays, element by element, with extents of 1 repeated.
struct CombinationLayer: Layer {
    let name: String
    let inputs: [String]
    let outputShape: TensorShape
    private let `operator`: NetworkGraph.Combination.Operator
    /// Of arrays: how their elements are walked through together.
    private let walk: BroadcastWalk?

    init(_ combination: NetworkGraph.Combination, _ description: LayerDescription) throws(ModelError.Reason) {
        let (left, right) = (description.input, description.others[0])
        name = description.node.name
        inputs = [description.node.input, combination.other]
        self.operator = combination.operator
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
            _ = try description.elementCount(walk.extents)
            outputShape = TensorShape(extents: walk.extents)
            self.walk = walk
        default: throw description.problem(words + ", but both have to be maps or arrays")
        }
    }

    private static func common(_ a: Int, _ b: Int) -> Int? { a == b || b == 1 ? a : a == 1 ? b : nil }

    var summary: String { "\(self.operator.rawValue) \(inputs[1])" }
    var multiplyAdds: Int { outputShape.elementCount }
    var parts: Int { walk == nil ? ElementParts.count(outputShape) : 1 }

    private var operation: lk_combination {
        switch self.operator {
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

    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget
    ) {
        for image in 0..<batch {
            let (left, right) = (tensors.input(0), tensors.input(1))
            let output = tensors.output.floats(image)
            if let walk {
                combine(walk, left.floats(image), right.floats(image), output, kernels)
            } else {
                for block in parts { combine(block: block, image, left, right, tensors.output, kernels) }
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
        block: Int, _ image: Int, _ left: LayerTensors.Slot, _ right: LayerTensors.Slot, _ output: LayerTensors.Slot,
        _ kernels: SIMDTarget
    ) {
        let channelBlock = TensorShape.channelBlock
        let (width, height) = (outputShape.width, outputShape.height)
        /// A single channel is spread over a block.
        func withRow(_ slot: LayerTensors.Slot, _ row: Int, _ body: (lk_operand) -> Void) {
            let layout = slot.layout
            let ownBlock = layout.shape.channels == 1 && outputShape.channels > 1 ? 0 : block
            let line =
                slot.floats(image) + layout.origin + ownBlock * layout.blockStride
                + (layout.shape.height == 1 ? 0 : row) * layout.rowStride
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
                body(lk_operand(values: line, mode: layout.shape.width == 1 && width > 1 ? LK_SAME_BLOCK : LK_EACH))
            }
        }
        let layout = output.layout
        let start = output.floats(image) + layout.origin + block * layout.blockStride
        for row in 0..<height {
            withRow(left, row) { a in
                withRow(right, row) { b in
                    kernels.table.combine(operation, a, b, width * channelBlock, start + row * layout.rowStride)
                }
            }
        }
    }
}
