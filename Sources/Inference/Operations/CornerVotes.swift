import Compute
import Foundation

extension NetworkGraph {
    /// The corners of an object from a vote of every cell of a map.
    public struct CornerVotes: RunnableOperation {
        /// The side of a cell in pixels of the network's input.
        public var stride: Int

        /// Votes of cells of a size.
        public init(stride: Int) { self.stride = stride }

        enum CodingKeys: String, CodingKey, CaseIterable { case stride }

        static let names = ["corner_votes"]
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try CornerVotesLayer(self, description)
        }
    }
}

/// The corners of an object by voting: every cell of a twelve-channel map predicts each corner, weighted by a softmax
/// over the cells.
///
/// Channels 0…3 are the logits of the weights, 4…11 the offsets (x and y per corner) from the cell, in cells.
/// The output is x and y of each corner in pixels of the network's input, where cell `i` of a map that was
/// reduced `stride` times is centered on pixel `stride * i` (what 3×3 convolutions with padding 1 do).
private struct CornerVotesLayer: Layer {
    static let corners = 4

    let outputShape = TensorShape.vector(length: 2 * corners)
    private let stride: Int
    private let inputCount: Int

    init(_ votes: NetworkGraph.CornerVotes, _ description: LayerDescription) throws(ModelError.Reason) {
        guard case .map(3 * Self.corners, _, _) = description.input else {
            throw description.problem(
                "needs an input of \(3 * Self.corners) channels, not \(description.input.description)")
        }
        inputCount = description.input.elementCount
        stride = try description.checked(votes.stride, "stride", in: 1...1024)
    }

    /// Each cell is read twice: for the largest logit, and for the sums.
    var operationCount: Int { TensorShape.operationCount(ofElements: 2 * inputCount) }
    var summary: String { "votes for corners, stride \(stride)" }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        let layout = pass.input.layout
        for image in 0..<pass.batch {
            // Twelve channels are one block.
            let cells = pass.input.floats(image) + layout.origin
            let output = pass.output.floats(image)
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
