extension NetworkGraph {
    /// A height and a width. In JSON one number if they are equal, and [height, width] otherwise.
    public struct Extent: Sendable, Hashable, Codable, ExpressibleByIntegerLiteral {
        /// Along the rows' axis, from top to bottom.
        public var height: Int
        /// Along the columns' axis, from left to right.
        public var width: Int

        /// A height and a width.
        public init(height: Int, width: Int) { (self.height, self.width) = (height, width) }

        /// A square.
        public init(integerLiteral value: Int) { (height, width) = (value, value) }

        public init(from decoder: any Decoder) throws {
            let values = try NetworkGraph.decodeNumbers(from: decoder, oneOr: 2)
            (height, width) = (values[0], values[1])
        }

        public func encode(to encoder: any Encoder) throws {
            var value = encoder.singleValueContainer()
            if height == width { try value.encode(height) } else { try value.encode([height, width]) }
        }

        var description: String { "\(height)×\(width)" }
    }

    /// Pixels around a map. In JSON one number if all sides are equal, and [top, left, bottom, right] otherwise.
    public struct Padding: Sendable, Hashable, Codable, ExpressibleByIntegerLiteral {
        /// Rows above the map.
        public var top: Int
        /// Columns before the map.
        public var left: Int
        /// Rows below the map.
        public var bottom: Int
        /// Columns after the map.
        public var right: Int

        /// A number of pixels for each side.
        public init(top: Int, left: Int, bottom: Int, right: Int) {
            (self.top, self.left, self.bottom, self.right) = (top, left, bottom, right)
        }

        /// The same number on all sides.
        public init(integerLiteral value: Int) { (top, left, bottom, right) = (value, value, value, value) }

        public init(from decoder: any Decoder) throws {
            let values = try NetworkGraph.decodeNumbers(from: decoder, oneOr: 4)
            (top, left, bottom, right) = (values[0], values[1], values[2], values[3])
        }

        public func encode(to encoder: any Encoder) throws {
            var value = encoder.singleValueContainer()
            if all.allSatisfy({ $0 == top }) { try value.encode(top) } else { try value.encode(all) }
        }

        var all: [Int] { [top, left, bottom, right] }
    }

    private static func decodeNumbers(from decoder: any Decoder, oneOr count: Int) throws -> [Int] {
        let value = try decoder.singleValueContainer()
        if let one = try? value.decode(Int.self) { return Array(repeating: one, count: count) }
        let several = try value.decode([Int].self)
        guard several.count == count else {
            throw DecodingError.dataCorruptedError(
                in: value, debugDescription: "\(several) is neither one number nor \(count)")
        }
        return several
    }
}

/// How the windows of a convolution or of pooling lie on a map.
struct WindowGeometry {
    /// The number of windows.
    let outputs: NetworkGraph.Extent

    /// - Parameter roundsUp: whether a last window that covers the map in part counts.
    init(
        kernel: NetworkGraph.Extent, stride: NetworkGraph.Extent, padding: NetworkGraph.Padding,
        dilation: NetworkGraph.Extent, roundsUp: Bool = false, _ description: LayerDescription
    ) throws(ModelError.Reason) {
        func checked(
            _ extent: NetworkGraph.Extent, _ key: String, in range: ClosedRange<Int>
        ) throws(ModelError.Reason) {
            _ = try description.checked(extent.height, key, in: range)
            _ = try description.checked(extent.width, key, in: range)
        }
        try checked(kernel, "kernel", in: 1...4096)
        try checked(stride, "stride", in: 1...4096)
        try checked(dilation, "dilation", in: 1...4096)
        for side in padding.all { _ = try description.checked(side, "padding", in: 0...4096) }
        let input = description.input
        func count(
            _ size: Int, _ before: Int, _ after: Int, _ kernel: Int, _ stride: Int, _ dilation: Int
        ) throws(ModelError.Reason) -> Int {
            let span = (kernel - 1) * dilation + 1
            guard size + before + after >= span else {
                throw description.problem("has a kernel of \(span), larger than its input \(input.description)")
            }
            let free = size + before + after - span
            guard roundsUp else { return free / stride + 1 }
            let count = (free + stride - 1) / stride + 1
            // A window has to start inside the map or before it.
            return (count - 1) * stride < size + before ? count : count - 1
        }
        outputs = NetworkGraph.Extent(
            height: try count(
                input.height, padding.top, padding.bottom, kernel.height, stride.height, dilation.height),
            width: try count(input.width, padding.left, padding.right, kernel.width, stride.width, dilation.width))
    }
}
