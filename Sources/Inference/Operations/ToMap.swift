import Compute

extension NetworkGraph {
    /// A map of an array of the shape [1][channels][rows][columns], or of the image.
    public struct ToMap: RunnableOperation {
        /// The conversion.
        public init() {}

        enum CodingKeys: CodingKey, CaseIterable {}

        static let names = ["map"]
        func kind(of input: TensorKind) -> TensorKind { .map }
        func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer {
            try MapLayer(self, description)
        }
    }
}

/// A map of an array of four axes, or of the image.
private struct MapLayer: Layer {
    let outputShape: TensorShape

    init(_: NetworkGraph.ToMap, _ description: LayerDescription) throws(ModelError.Reason) {
        let extents = description.input.extents
        guard extents.count == 4, extents[0] == 1 else {
            throw description.problem(
                "makes a map of \(description.input.description), not of [1, channels, height, width]"
            )
        }
        outputShape = .map(channels: extents[1], width: extents[3], height: extents[2])
    }

    var operationCount: Int { TensorShape.operationCount(ofElements: 2 * outputShape.elementCount) }
    var summary: String { "map" }
    var parts: Int { ElementParts.count(outputShape) }

    func run(_ parts: Range<Int>, in pass: LayerPass) {
        let (input, output) = (pass.input.layout, pass.output.layout)
        let (width, height) = (outputShape.width, outputShape.height)
        let isArray = input.shape.isRowMajor
        // The channels of a pixel of an image are neighbors.
        let channelStep = isArray ? width * height : input.shape == outputShape ? 0 : 1
        let rowStep = isArray ? width : input.rowStride
        let columnStep = isArray ? 1 : input.pixelStride
        let block = TensorShape.channelBlock
        for image in 0..<pass.batch {
            let source = pass.input.floats(image) + (isArray ? 0 : input.origin)
            for part in parts {
                let target = pass.output.floats(image) + output.origin + part * output.blockStride
                for row in 0..<height {
                    for lane in 0..<block {
                        let to = target + row * output.rowStride + lane
                        let channel = part * block + lane
                        guard channel < outputShape.channels else {
                            for column in 0..<width { to[column * block] = 0 }
                            continue
                        }
                        let from =
                            if case .map = input.shape { source + part * input.blockStride + row * rowStep + lane } else
                            {
                                source + channel * channelStep + row * rowStep
                            }
                        for column in 0..<width { to[column * block] = from[column * columnStep] }
                    }
                }
            }
        }
    }
}
