package import Compute

/// What a pass through a network computes.
package struct NetworkResults: OptionSet, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// The vector of the last layer.
    package static let output = NetworkResults(rawValue: 1)
    /// The corners of the object that the image shows.
    package static let corners = NetworkResults(rawValue: 2)
}

/// The layers of a model, ready to run.
package struct Network: Sendable {
    static let imageName = "image"
    static let textName = "text"

    let layers: [NetworkLayer]
    let plan: MemoryPlan
    private let steps: [Step]
    private let imageLayout: TensorLayout
    private let cornersPlace: TensorPlace?
    private let outputPlace: TensorPlace
    package let outputDimension: Int
    /// How many images one thread should pass through the network at once.
    ///
    /// A batch reads the weights once instead of once per image, but its maps fill more of the cache. So the maps of
    /// a batch should have no more elements than the network has weights. Against batches of 8, that is 1.1 and 1.15
    /// times as fast with MobileNetV3 and EfficientNet-B0 (2.5 GHz Xeon, one thread).
    package let preferredBatchSize: Int
    /// The work of a pass over one image: the work of the layers, and clearing the borders of maps.
    let operationCount: Int

    /// A layer with the places of its tensors, so that a pass needs no dictionary lookups.
    private struct Step: Sendable {
        let name: String
        let layer: any Layer
        let inputs: [TensorPlace]
        let output: TensorPlace
        /// What depends on the layer.
        let results: NetworkResults

        /// Computes some parts on one thread.
        func run(_ parts: Range<Int>, in workspace: Workspace, batch: Int, thread: Int, kernels: SIMDTarget) {
            layer.run(
                parts,
                in: LayerPass(
                    workspace: workspace, inputs: inputs, output: output.slot(in: workspace), batch: batch,
                    scratch: workspace.scratch(thread), kernels: kernels))
        }

        func clearBorders(in workspace: Workspace, batch: Int) {
            let output = output.slot(in: workspace)
            for image in 0..<batch { output.clearBorder(image) }
        }
    }

    /// The largest input side; no size in this module overflows with it.
    private static let largestSide = 4096
    private static let longestText = 4096
    /// The most layers, more than any published network has. Planning the memory takes the square of their number.
    private static let mostLayers = 1 << 14
    /// Sums over the components of int8 prints fit 32 bits up to this dimension.
    private static let largestOutput = 1 << 16

    /// The largest batch that is preferred; larger ones gain little and take memory.
    private static let largestPreferredBatch = 8

    /// The most bytes that a pass over one image may need. The default network needs a few MB.
    private static let largestPass = 512 << 20

    /// The most bytes that the layers may keep for packed weights, for constants and for tables: as many as a billion
    /// parameters in float32. The default network needs a hundred MB at most.
    private static let mostKept = 4 << 30

    /// A network that reads images.
    package init(graph: NetworkGraph, file: SafeTensorsFile, quantization: Quantization?) throws(ModelError.Reason) {
        let input = graph.input
        guard (1...Self.largestSide).contains(input.width), (1...Self.largestSide).contains(input.height) else {
            throw .unusableGraph("its input is \(input.width)×\(input.height), outside 1…\(Self.largestSide)")
        }
        guard input.mean.count == 3, input.std.count == 3, (input.mean + input.std).allSatisfy(\.isFinite),
            input.std.allSatisfy({ $0 > 0 })
        else { throw .unusableGraph("its input needs three means and three positive deviations") }
        if let shortest = input.shortestSide {
            guard (max(input.width, input.height)...Self.largestSide).contains(shortest) else {
                throw .unusableGraph(
                    "its input of \(input.width)×\(input.height) does not fit into images whose shortest side is "
                        + "\(shortest)"
                )
            }
            guard graph.corners == nil else {
                throw .unusableGraph("it localizes objects, for which images are stretched to its input")
            }
        }

        try self.init(
            graph.nodes, reading: Self.imageName, .image(width: input.width, height: input.height),
            corners: graph.corners, file: file, quantization: quantization)
    }

    /// A network that reads the numbers of a text, and then for each whether it is one of the text: 1, or 0.
    ///
    /// - Parameter quantizes: whether linear layers compute in int8, and attention that reads their results.
    package init(graph: TextGraph, file: SafeTensorsFile, quantizes: Bool) throws(ModelError.Reason) {
        guard (1...Self.longestText).contains(graph.length) else {
            throw .unusableGraph("its texts have \(graph.length) numbers, outside 1…\(Self.longestText)")
        }
        try self.init(
            graph.nodes, reading: Self.textName, .vector(length: 2 * graph.length), corners: nil, file: file,
            quantization: quantizes ? Quantization(linesOf: graph) : nil)
    }

    private init(
        _ nodes: [NetworkGraph.Node], reading inputName: String, _ inputShape: TensorShape, corners: String?,
        file: SafeTensorsFile, quantization: Quantization?
    ) throws(ModelError.Reason) {
        var shapes = [inputName: inputShape]
        var layers: [NetworkLayer] = []
        guard nodes.count <= Self.mostLayers else {
            throw .unusableGraph("it has \(nodes.count) layers; at most \(Self.mostLayers) can be planned")
        }
        var kept = 0
        for node in nodes {
            let bytes = node.runnable.weightCount(in: file) * MemoryLayout<Float>.stride
            try Self.keep(bytes, of: node.name, total: &kept)
        }
        for node in nodes {
            func shape(_ name: String) throws(ModelError.Reason) -> TensorShape {
                guard let shape = shapes[name] else {
                    throw .unusableGraph("layer “\(node.name)” reads “\(name)”, which no layer before it makes")
                }
                return shape
            }
            guard shapes[node.name] == nil else { throw .unusableGraph("two layers are called “\(node.name)”") }
            var others: [TensorShape] = []
            for name in node.otherInputs { others.append(try shape(name)) }
            let place = try NetworkLayer(
                LayerDescription(
                    node: node, input: try shape(node.input), others: others, file: file,
                    quantization: quantization?.parameters(for: node)))
            let layer = place.layer
            try Self.checkMemory(
                TensorLayout(shape: layer.outputShape, border: 0).count + layer.scratchCount,
                of: "the output of layer “\(node.name)”, \(layer.outputShape.description),")
            try Self.keep(layer.tableBytes, of: node.name, total: &kept)
            shapes[node.name] = layer.outputShape
            layers.append(place)
        }
        guard let last = layers.last, case .vector(let length) = last.layer.outputShape else {
            throw .unusableGraph("its last layer has to give a vector")
        }
        guard length <= Self.largestOutput else {
            throw .unusableGraph(
                "its last layer gives \(length) numbers; at most \(Self.largestOutput) can be searched")
        }
        if let corners = corners {
            guard shapes[corners] == .vector(length: 8), !layers.contains(where: { $0.inputs.contains(corners) }) else {
                throw .unusableGraph(
                    "its “corners” have to be a layer that gives eight numbers and that no other reads")
            }
        }
        layers = LayerFusion(layers).fused(keeping: Set([last.name] + (corners.map { [$0] } ?? [])))
        let plan = MemoryPlan(
            image: inputName, imageShape: inputShape, layers: layers,
            codes: quantization?.parameters ?? [:])
        try Self.checkMemory(plan.count + plan.scratchCount, of: "a pass over one image")
        var constants: [String: AlignedFloats] = [:]
        for layer in layers {
            constants[layer.name] = layer.layer.isReshape ? constants[layer.inputs[0]] : layer.layer.constant
        }
        func place(_ name: String) throws(ModelError.Reason) -> TensorPlace {
            guard let layout = plan.layouts[name] else { throw .unusableGraph("“\(name)” has no place in memory") }
            return TensorPlace(offset: plan.offsets[name] ?? 0, layout: layout, constant: constants[name])
        }
        var steps: [Step] = []
        let forOutput = Self.dependencies(of: last.name, among: layers)
        let forCorners = corners.map { Self.dependencies(of: $0, among: layers) } ?? []
        for layer in layers where layer.layer.constant == nil {
            var inputs: [TensorPlace] = []
            for input in layer.inputs { inputs.append(try place(input)) }
            steps.append(
                Step(
                    name: layer.name, layer: layer.layer, inputs: inputs, output: try place(layer.name),
                    results: !forCorners.contains(layer.name)
                        ? .output : forOutput.contains(layer.name) ? [.output, .corners] : .corners))
        }
        (self.layers, self.plan, self.steps) = (layers, plan, steps)
        outputPlace = try place(last.name)
        imageLayout = try place(inputName).layout
        cornersPlace = if let corners = corners { try place(corners) } else { nil }
        outputDimension = length
        let parameters = layers.reduce(0) { $0 + $1.layer.batchedParameterCount }
        let elements = steps.reduce(0) { $0 + $1.layer.outputShape.elementCount }
        operationCount = (layers.map(\.layer.operationCount) + plan.layouts.values.map(\.borderOperationCount))
            .reduce(0) { total, count in
                let (sum, isTooLarge) = total.addingReportingOverflow(count)
                return isTooLarge ? .max : sum
            }
        preferredBatchSize = max(1, min(parameters / max(elements, 1), Self.largestPreferredBatch))
    }

    /// The names of the layers that a layer depends on, and its own.
    private static func dependencies(of name: String, among layers: [NetworkLayer]) -> Set<String> {
        var needed: Set<String> = [name]
        for layer in layers.reversed() where needed.contains(layer.name) { needed.formUnion(layer.inputs) }
        return needed
    }

    /// Refuses a network before a pass allocates memory that no computer has.
    private static func checkMemory(_ floats: Int, of what: String) throws(ModelError.Reason) {
        let (bytes, overflow) = floats.multipliedReportingOverflow(by: MemoryLayout<Float>.stride)
        guard !overflow, bytes <= largestPass else {
            throw .unusableGraph("\(what) needs \(bytes) bytes of memory, more than the limit of \(largestPass)")
        }
    }

    /// Refuses a network before its layers together keep memory that no computer has.
    private static func keep(_ bytes: Int, of name: String, total: inout Int) throws(ModelError.Reason) {
        let (sum, overflow) = total.addingReportingOverflow(bytes)
        guard !overflow, sum <= mostKept else {
            throw .unusableGraph(
                "the weights, constants and tables of layer “\(name)” and those before it need \(sum) bytes of memory, "
                    + "more than the limit of \(mostKept)")
        }
        total = sum
    }

    /// Whether the network localizes the object in an image.
    package var localizesObjects: Bool { cornersPlace != nil }

    /// The most images of a batch whose maps need no more memory than a pass over one image may; at least one.
    package var largestBatch: Int { max(1, Self.largestPass / (max(1, plan.count) * MemoryLayout<Float>.stride)) }

    package var inputLayout: TensorLayout { imageLayout }

    /// The input for one image of a batch, in the layout `inputLayout`.
    package func input(_ image: Int, in workspace: Workspace) -> UnsafeMutableBufferPointer<Float> {
        let count = imageLayout.count
        return UnsafeMutableBufferPointer(start: workspace.memory.pointer + image * count, count: count)
    }

    /// A forward pass over the images that were written into the workspace. Allocates nothing when
    /// `threads` is 1.
    ///
    /// - Parameter results: what is computed; all else is undefined afterwards.
    package func run(_ workspace: Workspace, batch: Int, threads: Int, results: NetworkResults, kernels: SIMDTarget) {
        precondition(batch <= workspace.batchCapacity, "\(batch) images in a workspace for \(workspace.batchCapacity)")
        precondition(threads <= workspace.threads, "\(threads) threads in a workspace for \(workspace.threads)")
        guard threads > 1, let pass = workspace.pass else {
            runInOrder(workspace, batch: batch, results: results, kernels: kernels) { _ in }
            return
        }
        clearImageBorders(in: workspace, batch: batch)
        pass.run(threads: threads) { step, part, thread in
            let step = steps[step]
            guard !step.results.isDisjoint(with: results) else { return }
            // Each part writes pixels of its own of the output; the border is a part of its own as well.
            if part == 0 {
                step.clearBorders(in: workspace, batch: batch)
            } else {
                step.run((part - 1)..<part, in: workspace, batch: batch, thread: thread, kernels: kernels)
            }
        }
    }

    private func runInOrder(
        _ workspace: Workspace, batch: Int, results: NetworkResults, kernels: SIMDTarget, _ afterStep: (Step) -> Void
    ) {
        clearImageBorders(in: workspace, batch: batch)
        for step in steps where !step.results.isDisjoint(with: results) {
            step.clearBorders(in: workspace, batch: batch)
            step.run(0..<step.layer.parts, in: workspace, batch: batch, thread: 0, kernels: kernels)
            afterStep(step)
        }
    }

    private func clearImageBorders(in workspace: Workspace, batch: Int) {
        for image in 0..<batch {
            imageLayout.clearBorder(workspace.memory.pointer + image * imageLayout.count, zero: 0)
        }
    }

    /// The values in each of some maps for the images that were written into the workspace, one image after another.
    ///
    /// - Parameter body: called with a map's name and its values, the gaps of a last block left out.
    package func observe(
        _ names: Set<String>, in workspace: Workspace, batch: Int, kernels: SIMDTarget,
        _ body: (_ name: String, _ values: [Float]) -> Void
    ) {
        runInOrder(workspace, batch: batch, results: [.output, .corners], kernels: kernels) { step in
            guard names.contains(step.name) else { return }
            let (shape, output) = (step.layer.outputShape, step.output.slot(in: workspace))
            var values = [Float](repeating: 0, count: shape.elementCount)
            for image in 0..<batch {
                values.withUnsafeMutableBufferPointer { buffer in
                    guard let start = buffer.baseAddress else { return }
                    let source = output.rowMajor(image, scratch: start)
                    if source != UnsafePointer(start) { start.update(from: source, count: shape.elementCount) }
                }
                body(step.name, values)
            }
        }
    }

    /// Memory for passes over up to `batchCapacity` images on up to `threads` threads.
    package func makeWorkspace(batchCapacity: Int, threads: Int) -> Workspace {
        Workspace(plan: plan, batchCapacity: batchCapacity, threads: threads, parts: steps.map { $0.layer.parts + 1 })
    }

    /// The output for one image, valid until the workspace is used again.
    package func output(_ image: Int, in workspace: Workspace) -> UnsafeBufferPointer<Float> {
        UnsafeBufferPointer(start: outputPlace.slot(in: workspace).floats(image), count: outputDimension)
    }

    /// x and y of the four corners in pixels of the input, valid until the workspace is used again.
    package func corners(_ image: Int, in workspace: Workspace) -> UnsafeBufferPointer<Float>? {
        cornersPlace.map { UnsafeBufferPointer(start: $0.slot(in: workspace).floats(image), count: 8) }
    }
}
