import Compute

extension NetworkGraph {
    /// A map of another height and width.
    public struct Resizing: RunnableOperation {
        /// How a pixel is found.
        public enum Mode: String, Sendable, Codable, CaseIterable {
            /// The nearest pixel.
            case nearest
            /// Interpolated between two pixels along each axis.
            case linear
        }

        /// Where the center of pixel x of the output is in the input.
        public enum Coordinates: String, Sendable, Codable, CaseIterable {
            /// (x + 0.5) / scale − 0.5
            case halfPixel = "half_pixel"
            /// (x + 0.5) / scale − 0.5, and 0 for a single pixel.
            case pixelsOrStart = "pytorch_half_pixel"
            /// x / scale
            case asymmetric
            /// The first and last pixels of input and output coincide.
            case corners = "align_corners"
        }

        /// How a position between two pixels is rounded to one, in the mode `nearest`.
        public enum Rounding: String, Sendable, Codable, CaseIterable {
            /// To the nearest; down in the middle.
            case halfDown = "half_down"
            /// To the nearest; up in the middle.
            case halfUp = "half_up"
            /// Down.
            case down
            /// Up.
            case up
        }

        /// The size of the output.
        public var size: Extent
        /// The output's size divided by the input's, as the network's author gave it: [vertical, horizontal].
        public var scales: [Float]
        /// How a pixel is found.
        public var mode: Mode
        /// Where the center of an output is in the input.
        public var coordinates: Coordinates
        /// How a position is rounded, in the mode `nearest`.
        public var rounding: Rounding

        /// A map of another height and width.
        public init(size: Extent, scales: [Float], mode: Mode, coordinates: Coordinates, rounding: Rounding) {
            (self.size, self.scales, self.mode, self.coordinates) = (size, scales, mode, coordinates)
            self.rounding = rounding
        }

        enum CodingKeys: String, CodingKey, CaseIterable { case size, scales, mode, coordinates, rounding }

        static let names = ["resize"]
        func kind(of input: TensorKind) -> TensorKind { .map }
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try ResizingLayer(self, description)
        }
    }
}

/// A map of another height and width.
private struct ResizingLayer: Layer {
    /// Where a row or column of the output comes from: two of the input, and the weight of the second.
    private struct Tap: Sendable {
        let first: Int
        let second: Int
        let weight: Float
    }

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

    /// An element of the output is interpolated between four of the input.
    var operationCount: Int { TensorShape.operationCount(ofElements: 5 * outputShape.elementCount) }
    var tableBytes: Int { (rows.count + columns.count) * MemoryLayout<Tap>.stride }
    var summary: String { "resized, \(mode.rawValue)" }
    var parts: Int { ElementParts.count(outputShape) }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        let (input, output) = (pass.input.layout, pass.output.layout)
        let block = TensorShape.channelBlock
        for image in 0..<pass.batch {
            for part in parts {
                let source = pass.input.floats(image) + input.origin + part * input.blockStride
                let target = pass.output.floats(image) + output.origin + part * output.blockStride
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
