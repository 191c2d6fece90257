import Compute

/// A map of some channels of maps: joined, split, or interleaved.
struct ChannelSelectionLayer: Layer {
    /// Channels that are copied together: neighbors in one block of an input and in one of the output.
    private struct Run: Sendable {
        let input: Int
        let from: Int
        let to: Int
        var count: Int
    }

    let name: String
    let inputs: [String]
    let outputShape: TensorShape
    /// Of each block of the output.
    private let runs: [[Run]]

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
        name = description.node.name
        inputs = [description.node.input] + selection.others
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
    var summary: String { "channels of \(inputs.count) \(inputs.count == 1 ? "map" : "maps")" }
    var parts: Int { runs.count }

    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget
    ) {
        let block = TensorShape.channelBlock
        let output = tensors.output.layout
        let (width, height) = (outputShape.width, outputShape.height)
        for image in 0..<batch {
            for part in parts {
                let target = tensors.output.floats(image) + output.origin + part * output.blockStride
                for run in runs[part] {
                    let slot = tensors.input(run.input)
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
