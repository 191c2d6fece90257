import Compute

extension NetworkGraph {
    /// A map of some channels of maps of one height and width.
    public struct ChannelSelection: RunnableOperation {
        /// Consecutive channels of an input.
        public struct Channels: Sendable, Equatable, Codable {
            /// 0 for the node's input, 1 for the first of the `others`.
            public var input: Int
            /// The first channel.
            public var first: Int
            /// The number of channels.
            public var count: Int

            /// Consecutive channels of an input.
            public init(input: Int, first: Int, count: Int) {
                (self.input, self.first, self.count) = (input, first, count)
            }

            public init(from decoder: any Decoder) throws {
                let value = try decoder.singleValueContainer()
                let numbers = try value.decode([Int].self)
                guard numbers.count == 3 else {
                    throw DecodingError.dataCorruptedError(
                        in: value, debugDescription: "\(numbers) is not an input, a channel and a number of channels")
                }
                (input, first, count) = (numbers[0], numbers[1], numbers[2])
            }

            public func encode(to encoder: any Encoder) throws {
                var value = encoder.singleValueContainer()
                try value.encode([input, first, count])
            }
        }

        /// The maps besides the node's input.
        public var others: [String]
        /// Which channels, in order.
        public var channels: [Channels]
        /// 1, or the number of groups whose channels are interleaved: the first of each, then the second of each.
        public var shuffledGroups: Int

        /// Some channels of maps.
        public init(others: [String], channels: [Channels], shuffledGroups: Int = 1) {
            (self.others, self.channels, self.shuffledGroups) = (others, channels, shuffledGroups)
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case others, channels
            case shuffledGroups = "shuffled_groups"
        }

        static let names = ["select_channels"]
        var otherInputs: [String] { others }
        func kind(of input: TensorKind) -> TensorKind { .map }
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try ChannelSelectionLayer(self, description)
        }
    }
}

/// A map of some channels of maps: joined, split, or interleaved.
private struct ChannelSelectionLayer: Layer {
    /// Channels that are copied together: neighbors in one block of an input and in one of the output.
    private struct Run: Sendable {
        let input: Int
        let from: Int
        let to: Int
        var count: Int
    }

    let outputShape: TensorShape
    /// The runs of each block of the output.
    private let runs: [[Run]]
    private let inputCount: Int

    init(_ selection: NetworkGraph.ChannelSelection, _ description: LayerDescription) throws(ModelError.Reason) {
        let shapes = [description.input] + description.others
        guard case .map(_, let width, let height) = shapes[0] else {
            throw description.problem("selects channels of \(shapes[0].description), which is not a map")
        }
        for shape in shapes {
            guard case .map(_, width, height) = shape else {
                throw description.problem(
                    "selects channels of \(shapes[0].description) and \(shape.description), "
                        + "which differ in height or width"
                )
            }
        }
        var sources: [(input: Int, channel: Int)] = []
        for channels in selection.channels {
            guard shapes.indices.contains(channels.input), channels.first >= 0, channels.count >= 0,
                channels.first <= shapes[channels.input].channels,
                channels.count <= shapes[channels.input].channels - channels.first,
                sources.count + channels.count <= 65_536
            else { throw description.problem("selects channels that its inputs do not have") }
            sources += (channels.first..<(channels.first + channels.count)).map { (channels.input, $0) }
        }
        let groups = selection.shuffledGroups
        guard !sources.isEmpty, groups > 0, sources.count % groups == 0 else {
            throw description.problem("selects \(sources.count) channels in \(groups) groups")
        }
        if groups > 1 {
            let perGroup = sources.count / groups
            let before = sources
            sources = before.indices.map { before[$0 % groups * perGroup + $0 / groups] }
        }
        inputCount = shapes.count
        outputShape = .map(channels: sources.count, width: width, height: height)
        let block = TensorShape.channelBlock
        runs = stride(from: 0, to: sources.count, by: block).map { first in
            var runs: [Run] = []
            for channel in first..<min(first + block, sources.count) {
                let (input, from) = sources[channel]
                if let last = runs.last, last.input == input, last.from + last.count == from, from % block != 0 {
                    runs[runs.count - 1].count += 1
                } else {
                    runs.append(Run(input: input, from: from, to: channel - first, count: 1))
                }
            }
            return runs
        }
    }

    var operationCount: Int { TensorShape.operationCount(ofElements: 2 * outputShape.elementCount) }
    var tableBytes: Int { runs.reduce(0) { $0 + $1.count } * MemoryLayout<Run>.stride }
    var summary: String { "channels of \(inputCount) \(inputCount == 1 ? "map" : "maps")" }
    var parts: Int { runs.count }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        let block = TensorShape.channelBlock
        let output = pass.output.layout
        let (width, height) = (outputShape.width, outputShape.height)
        for image in 0..<pass.batch {
            for part in parts {
                let target = pass.output.floats(image) + output.origin + part * output.blockStride
                for run in runs[part] {
                    let slot = pass.input(run.input)
                    let source = slot.floats(image) + slot.layout.origin + run.from / block * slot.layout.blockStride
                    for row in 0..<height {
                        let from = source + row * slot.layout.rowStride + run.from % block
                        let to = target + row * output.rowStride + run.to
                        if run.count == block {
                            to.update(from: from, count: width * block)
                        } else {
                            for pixel in 0..<width {
                                for lane in 0..<run.count { to[pixel * block + lane] = from[pixel * block + lane] }
                            }
                        }
                    }
                }
            }
        }
    }
}
