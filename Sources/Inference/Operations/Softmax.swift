import CKernels
import Compute
import Foundation

extension NetworkGraph {
    /// eˣ divided by its sum along an axis.
    public struct Softmax: RunnableOperation {
        /// The axis, from 0.
        public var axis: Int

        /// The function along an axis.
        public init(axis: Int) { self.axis = axis }

        enum CodingKeys: String, CodingKey, CaseIterable { case axis }

        static let names = ["softmax"]
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try SoftmaxLayer(self, description)
        }
    }
}

/// eˣ divided by its sum along an axis of an array.
struct SoftmaxLayer: Layer {
    let outputShape: TensorShape
    let scratchCount: Int
    private let outer: Int
    private let count: Int
    /// Elements of the axes after it.
    let inner: Int

    init(_ softmax: NetworkGraph.Softmax, _ description: LayerDescription) throws(ModelError.Reason) {
        try description.checkIsNoImage()
        let extents = description.input.extents
        let axis = try description.checkedAxis(softmax.axis, of: extents)
        outputShape = TensorShape(extents: extents)
        outer = extents[..<axis].reduce(1, *)
        count = extents[axis]
        inner = extents[(axis + 1)...].reduce(1, *)
        scratchCount = description.input.rowMajorScratch
    }

    /// The largest element, the difference to it, its exponential, their sum and the quotient.
    var operationCount: Int {
        TensorShape.operationCount(ofElements: 2 * scratchCount + 5 * outputShape.elementCount)
    }
    var summary: String { "softmax of \(count)" }
    var parts: Int { scratchCount == 0 ? outer : 1 }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        let rows = scratchCount == 0 ? parts : 0..<outer
        for image in 0..<pass.batch {
            let source = pass.input.rowMajor(image, scratch: pass.scratch)
            let output = pass.output.floats(image)
            for row in rows {
                for column in 0..<inner {
                    let start = row * count * inner + column
                    if inner == 1 {
                        (output + start).update(from: source + start, count: count)
                        pass.kernels.table.softmax(output + start, count, 1, nil)
                    } else {
                        normalizeStrided(source + start, output + start)
                    }
                }
            }
        }
    }

    private func normalizeStrided(_ from: UnsafePointer<Float>, _ to: UnsafeMutablePointer<Float>) {
        var largest = from[0]
        for index in 1..<max(count, 1) { largest = max(largest, from[index * inner]) }
        var sum: Float = 0
        for index in 0..<count {
            to[index * inner] = expf(from[index * inner] - largest)
            sum += to[index * inner]
        }
        for index in 0..<count { to[index * inner] /= sum }
    }
}
