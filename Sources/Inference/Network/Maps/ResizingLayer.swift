import Compute

/// A map of another height and width.
struct ResizingLayer: Layer {
    /// Where a row or column of the output comes from: two of the input, and the weight of the second.
    private struct Tap: Sendable {
        let first: Int
        let second: Int
        let weight: Float
    }

    let name: String
    let inputs: [String]
    let outputShape: TensorShape
    private let rows: [Tap]
    private let columns: [Tap]
    private let mode: NetworkGraph.Resizing.Mode

    init(_ resizing: NetworkGraph.Resizing, _ description: LayerDescription) throws(ModelError.Reason) {
        guard case .map(let channels, let width, let height) = description.input else {
            throw description.problem("resizes, but its input \(description.input.description) is not a map")
        }
        let outputHeight = try description.checked(resizing.size.height, "height", in: 1...4096)
        let outputWidth = try description.checked(resizing.size.width, "width", in: 1...4096)
        guard resizing.scales.count == 2, resizing.scales.allSatisfy({ $0.isFinite && $0 > 0 }) else {
            throw description.problem("needs two positive scales, not \(resizing.scales)")
        }
        name = description.node.name
        inputs = [description.node.input]
        outputShape = .map(channels: channels, width: outputWidth, height: outputHeight)
        mode = resizing.mode
        rows = (0..<outputHeight).map { Self.tap($0, height, outputHeight, resizing.scales[0], resizing) }
        columns = (0..<outputWidth).map { Self.tap($0, width, outputWidth, resizing.scales[1], resizing) }
    }

    private static func tap(
        _ index: Int, _ size: Int, _ outputSize: Int, _ scale: Float, _ resizing: NetworkGraph.Resizing
    ) -> Tap {
        let x = Float(index)
        let place =
            switch resizing.coordinates {
            case .halfPixel: (x + 0.5) / scale - 0.5
            case .pixelsOrStart: outputSize > 1 ? (x + 0.5) / scale - 0.5 : 0
            case .asymmetric: x / scale
            case .corners: outputSize > 1 ? x * Float(size - 1) / Float(outputSize - 1) : 0
            }
        func inside(_ index: Float) -> Int { Int(min(max(index, 0), Float(size - 1))) }
        switch resizing.mode {
        case .nearest:
            let rounded =
                switch resizing.rounding {
                case .halfDown: (place - 0.5).rounded(.up)
                case .halfUp: (place + 0.5).rounded(.down)
                case .down: place.rounded(.down)
                case .up: place.rounded(.up)
                }
            return Tap(first: inside(rounded), second: inside(rounded), weight: 0)
        case .linear:
            let low = place.rounded(.down)
            return Tap(first: inside(low), second: inside(low + 1), weight: place - low)
        }
    }

    /// Between four elements of the input.
    var operationCount: Int { TensorShape.operationCount(ofElements: 5 * outputShape.elementCount) }
    var tableBytes: Int { (rows.count + columns.count) * MemoryLayout<Tap>.stride }
    var summary: String { "resized, \(mode.rawValue)" }
    var parts: Int { ElementParts.count(outputShape) }

    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget
    ) {
        let (input, output) = (tensors.input.layout, tensors.output.layout)
        let block = TensorShape.channelBlock
        for image in 0..<batch {
            for part in parts {
                let source = tensors.input.floats(image) + input.origin + part * input.blockStride
                let target = tensors.output.floats(image) + output.origin + part * output.blockStride
                for (y, row) in rows.enumerated() {
                    let (above, below) = (source + row.first * input.rowStride, source + row.second * input.rowStride)
                    for (x, column) in columns.enumerated() {
                        let to = target + y * output.rowStride + x * block
                        let (left, right) = (column.first * block, column.second * block)
                        if mode == .nearest {
                            to.update(from: above + left, count: block)
                            continue
                        }
                        for lane in 0..<block {
                            let top = above[left + lane] * (1 - column.weight) + above[right + lane] * column.weight
                            let bottom = below[left + lane] * (1 - column.weight) + below[right + lane] * column.weight
                            to[lane] = top * (1 - row.weight) + bottom * row.weight
                        }
                    }
                }
            }
        }
    }
}
