import Compute
import Foundation

/// The corners of an object by voting: every cell of a twelve-channel map predicts each corner, weighted by a softmax
/// over the cells.
///
/// Channels 0…3 are the logits of the weights, 4…11 the offsets (x and y per corner) from the cell, in cells.
/// The output is x and y of each corner in pixels of the network's input, where cell `i` of a map that was
/// reduced `stride` times is centered on pixel `stride * i` (what 3×3 convolutions with padding 1 do).
struct CornerVotesLayer: Layer {
    static let corners = 4

    let name: String
    let inputs: [String]
    let outputShape = TensorShape.vector(length: 2 * corners)
    private let stride: Int
    private let inputCount: Int

    init(stride: Int, _ description: LayerDescription) throws(ModelError.Reason) {
        guard case .map(3 * Self.corners, _, _) = description.input else {
            throw description.problem(
                "needs an input of \(3 * Self.corners) channels, not \(description.input.description)")
        }
        name = description.node.name
        inputs = [description.node.input]
        inputCount = description.input.elementCount
        self.stride = try description.checked(stride, "stride", in: 1...1024)
    }

    var parameterCount: Int { 0 }
    var multiplyAdds: Int { 0 }
    /// Twice: for the largest logit, and for the sums.
    var operationCount: Int { TensorShape.operationCount(ofElements: 2 * inputCount) }
    var summary: String { "votes for corners, stride \(stride)" }

    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget
    ) {
        let layout = tensors.input.layout
        for image in 0..<batch {
            // Twelve channels are one block.
            let cells = tensors.input.floats(image) + layout.origin
            let output = tensors.output.floats(image)
            for corner in 0..<Self.corners {
                var largest = -Float.infinity
                layout.forEachCell { offset, _, _ in largest = max(largest, cells[offset + corner]) }
                var (total, x, y): (Float, Float, Float) = (0, 0, 0)
                layout.forEachCell { offset, column, row in
                    let weight = expf(cells[offset + corner] - largest)
                    total += weight
                    x += weight * (Float(column) + cells[offset + Self.corners + 2 * corner])
                    y += weight * (Float(row) + cells[offset + Self.corners + 2 * corner + 1])
                }
                output[2 * corner] = x / total * Float(stride) + 0.5
                output[2 * corner + 1] = y / total * Float(stride) + 0.5
            }
        }
    }
}

extension TensorLayout {
    /// Calls `body` with the offset in a block, the column and the row of each pixel.
    fileprivate func forEachCell(_ body: (Int, Int, Int) -> Void) {
        for row in 0..<shape.height {
            for column in 0..<shape.width { body(row * rowStride + column * pixelStride, column, row) }
        }
    }
}
