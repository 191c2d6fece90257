/// The memory of one forward pass at a time.
///
/// Unchecked: whoever runs a pass has the workspace alone, since the models take idle ones from a locked list. The
/// threads of the pass share it as ``AlignedFloats`` describes.
package final class Workspace: @unchecked Sendable {
    let memory: AlignedFloats
    package let batchCapacity: Int
    package let threads: Int
    private let scratchMemory: AlignedFloats
    private let scratchCount: Int
    /// Nil for one thread.
    let pass: ForwardPass?

    init(plan: MemoryPlan, batchCapacity: Int, threads: Int, parts: [Int]) {
        memory = AlignedFloats(count: plan.count * batchCapacity)
        (self.batchCapacity, self.threads) = (batchCapacity, threads)
        scratchCount = (plan.scratchCount + 15) / 16 * 16
        scratchMemory = AlignedFloats(count: scratchCount * threads)
        pass = threads > 1 ? ForwardPass(parts: parts) : nil
    }

    package var byteCount: Int { (memory.count + scratchMemory.count) * MemoryLayout<Float>.stride }

    func scratch(_ thread: Int) -> UnsafeMutablePointer<Float> { scratchMemory.pointer + thread * scratchCount }
}

/// The offsets of all tensors of a network in one block of memory.
///
/// A tensor's memory is reused after its last reader has run; first fit. For a batch all offsets and counts are
/// multiplied by its size.
struct MemoryPlan: Sendable {
    let layouts: [String: TensorLayout]
    let offsets: [String: Int]
    /// Floats for one image.
    let count: Int
    /// Floats of scratch memory per thread, for any batch.
    let scratchCount: Int

    init(image: String, imageShape: TensorShape, layers: [NetworkLayer], codes: [String: QuantizationParameters]) {
        var borders: [String: Int] = [:]
        for layer in layers where layer.layer.padding > 0 {
            borders[layer.inputs[0]] = max(borders[layer.inputs[0]] ?? 0, layer.layer.padding)
        }
        // A residual is read at the offsets that the output is written at.
        var settled = false
        while !settled {
            settled = true
            for layer in layers {
                guard let residual = layer.residual else { continue }
                let common = max(borders[layer.name] ?? 0, borders[residual] ?? 0)
                if borders[layer.name] != common || borders[residual] != common { settled = false }
                (borders[layer.name], borders[residual]) = (common, common)
            }
        }

        var lastUse: [String: Int] = [:]
        for (step, layer) in layers.enumerated() {
            for input in layer.inputs { lastUse[input] = step }
        }
        // What is reshaped is in use as long as its shapes.
        var reshaped: [String: String] = [:]
        for layer in layers.reversed() where layer.layer.isReshape {
            let input = layer.inputs[0]
            reshaped[layer.name] = input
            lastUse[input] = max(lastUse[input] ?? 0, lastUse[layer.name] ?? .max)
        }
        let tensors =
            [(name: image, shape: imageShape, isConstant: false)]
            + layers.map { (name: $0.name, shape: $0.layer.outputShape, isConstant: $0.layer.constant != nil) }
        var layouts: [String: TensorLayout] = [:]
        var offsets: [String: Int] = [:]
        var live: [(range: Range<Int>, until: Int)] = []
        var end = 0
        for (index, tensor) in tensors.enumerated() {
            let step = index - 1
            let layout = TensorLayout(
                shape: tensor.shape, border: borders[tensor.name] ?? 0,
                element: codes[tensor.name].map { .uint8($0) } ?? .float32)
            layouts[tensor.name] = layout
            if tensor.isConstant { continue }
            if let input = reshaped[tensor.name] {
                offsets[tensor.name] = offsets[input]
                continue
            }
            live.removeAll { $0.until < step }
            live.sort { $0.range.lowerBound < $1.range.lowerBound }
            var offset = 0
            for other in live where offset + layout.count > other.range.lowerBound {
                offset = max(offset, other.range.upperBound)
            }
            live.append((offset..<(offset + layout.count), lastUse[tensor.name] ?? .max))
            offsets[tensor.name] = offset
            end = max(end, offset + layout.count)
        }
        (self.layouts, self.offsets) = (layouts, offsets)
        count = end
        scratchCount = layers.map(\.layer.scratchCount).max() ?? 0
    }
}
