import Compute
import Imaging
import Inference

/// Writes images into a network's input: resized or rectified to its size, normalized, in its layout.
struct NetworkInput: Sendable {
    let rectifier: Rectifier
    private let resizer: Resizer
    private let layout: FloatImageLayout

    init(of network: Network, simd: SIMDTarget) {
        let input = network.graph.input
        resizer = Resizer(width: input.width, height: input.height, simd: simd)
        rectifier = Rectifier(width: input.width, height: input.height, simd: simd)
        let place = network.inputLayout
        layout = FloatImageLayout(
            offset: place.origin, rowStride: place.rowStride, pixelStride: place.pixelStride,
            multiply: (1 / input.std[0], 1 / input.std[1], 1 / input.std[2]),
            add: (-input.mean[0] / input.std[0], -input.mean[1] / input.std[1], -input.mean[2] / input.std[2]))
    }

    func write(_ crop: ImageCrop, into input: UnsafeMutableBufferPointer<Float>) {
        if let quadrilateral = crop.quadrilateral {
            rectifier.rectify(quadrilateral, of: crop.image, into: input, layout: layout)
        } else {
            resizer.resize(crop.image, into: input, layout: layout)
        }
    }
}
