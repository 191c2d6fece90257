package import Compute
package import Imaging
package import Inference

/// A network that reads images, with what its passes need: how images are written into its input, and memory.
package struct ImageNetwork: Sendable {
    let network: Network
    let graph: NetworkGraph
    let input: NetworkInput
    let kernels: SIMDTarget
    let workspaces = WorkspacePool()

    init(_ network: Network, of graph: NetworkGraph, simd: SIMDTarget) {
        (self.network, self.graph, kernels) = (network, graph, simd)
        input = NetworkInput(of: network, graph.input, simd: simd)
    }

    /// The network of a file, in int8 if the file and the CPU support it. Nothing of the file is kept.
    ///
    /// - Throws: the reason why the file has no network that can be run.
    package init(of tensors: SafeTensorsFile, simd: SIMDTarget) throws(ModelError.Reason) {
        let file = try ModelFile(tensors)
        let quantization = simd.hasFastInt8DotProduct ? file.quantization : nil
        self.init(try Network(graph: file.graph, file: tensors, quantization: quantization), of: file.graph, simd: simd)
    }

    /// The numbers of ``output(for:)``.
    package var outputDimension: Int { network.outputDimension }

    /// What the last layer gives for an image, which is resized to the input. O(a forward pass).
    package func output(for image: PixelBuffer) -> [Float] {
        run([ImageCrop(image)], results: .output, threads: threadCount(availableThreadCount), timings: nil) {
            Array(network.output(0, in: $0))
        }
    }

    /// A forward pass over some crops, whose results `body` reads.
    func run<Result, Failure: Error>(
        _ crops: ArraySlice<ImageCrop>, results: NetworkResults, threads: Int, timings: StageTimings?,
        _ body: (Workspace) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try workspaces.withWorkspace(for: network, batch: crops.count, threads: threads) {
            workspace throws(Failure) in
            measured(timings, .resize, count: crops.count) {
                for (index, crop) in crops.enumerated() { input.write(crop, into: network.input(index, in: workspace)) }
            }
            measured(timings, .network, count: crops.count) {
                network.run(
                    workspace, batch: crops.count, threads: threads, results: results, kernels: kernels)
            }
            return try body(workspace)
        }
    }
}

/// Writes images into a network's input: resized or rectified to its size, normalized, in its layout.
struct NetworkInput: Sendable {
    let rectifier: Rectifier
    private let resizer: Resizer
    private let layout: FloatImageLayout

    init(of network: Network, _ input: NetworkGraph.Input, simd: SIMDTarget) {
        resizer = Resizer(
            width: input.width, height: input.height,
            fit: input.shortestSide.map { .center(shortestSide: $0) } ?? .stretch,
            filter: input.filter == .bicubic ? .bicubic : .bilinear, simd: simd)
        rectifier = Rectifier(width: input.width, height: input.height, simd: simd)
        let place = network.inputLayout
        layout = FloatImageLayout(
            offset: place.origin, rowStride: place.rowStride, pixelStride: place.pixelStride,
            multiply: (1 / input.std[0], 1 / input.std[1], 1 / input.std[2]),
            add: (-input.mean[0] / input.std[0], -input.mean[1] / input.std[1], -input.mean[2] / input.std[2]))
    }

    func write(_ crop: ImageCrop, into input: UnsafeMutableBufferPointer<Float>) {
        if let quadrilateral = crop.quadrilateral {
            rectifier.rectify(part(of: quadrilateral, in: crop.image), of: crop.image, into: input, layout: layout)
        } else {
            resizer.resize(crop.image, into: input, layout: layout)
        }
    }

    /// The center of a rectified picture, if the network sees the center of images. The picture's shape is that of the
    /// mean sides of the quadrilateral.
    private func part(of quadrilateral: Quadrilateral, in image: PixelBuffer) -> Quadrilateral {
        guard case .center(let shortest) = resizer.fit else { return quadrilateral }
        let corners = quadrilateral.corners
        let sides = zip(corners, corners.dropFirst() + corners.prefix(1)).map { a, b in
            let (x, y) = ((a.x - b.x) * Double(image.width), (a.y - b.y) * Double(image.height))
            return (x * x + y * y).squareRoot()
        }
        let (width, height) = ((sides[0] + sides[2]) / 2, (sides[1] + sides[3]) / 2)
        let scale = min(width, height) / Double(shortest)
        let x = (1 - scale * Double(resizer.width) / width) / 2
        let y = (1 - scale * Double(resizer.height) / height) / 2
        let center = Quadrilateral(
            topLeft: .init(x: x, y: y), topRight: .init(x: 1 - x, y: y), bottomRight: .init(x: 1 - x, y: 1 - y),
            bottomLeft: .init(x: x, y: 1 - y))
        guard let part = quadrilateral.projecting(center), rectifier.canRectify(part) else { return quadrilateral }
        return part
    }
}
