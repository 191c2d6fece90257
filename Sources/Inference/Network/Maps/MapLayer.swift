import Compute

/// A map of an array of four axes, or of the image.
struct MapLayer: Layer {
    let name: String
    let inputs: [String]
    let outputShape: TensorShape

    init(_ description: LayerDescription) throws(ModelError.Reason) {
        let extents = description.input.extents
        guard extents.count == 4, extents[0] == 1 else {
            throw description.problem(
                "makes a map of \(description.input.description), not of [1, channels, height, width]"
            )
        }
        name = description.node.name
        inputs = [description.node.input]
        outputShape = .map(channels: extents[1], width: extents[3], height: extents[2])
    }

    var operationCount: Int { TensorShape.operationCount(ofElements: 2 * outputShape.elementCount) }
    var summary: String { "map" }
    var parts: Int { ElementParts.count(outputShape) }

    func run(
        _ parts: Range<Int>, tensors: LayerTensors, batch: Int, scratch: UnsafeMutablePointer<Float>,
        kernels: SIMDTarget
    ) {
        let (input, output) = (tensors.input.layout, tensors.output.layout)
        let (width, height) = (outputShape.width, outputShape.height)
        let isArray = input.shape.isRowMajor
        // Of an image the channels of a pixel are neighbors.
        let channelStep = isArray ? width * height : input.shape == outputShape ? 0 : 1
        let rowStep = isArray ? width : input.rowStride
        let columnStep = isArray ? 1 : input.pixelStride
        let block = TensorShape.channelBlock
        for image in 0..<batch {
            let source = tensors.input.floats(image) + (isArray ? 0 : input.origin)
            for part in parts {
                let target = tensors.output.floats(image) + output.origin + part * output.blockStride
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
