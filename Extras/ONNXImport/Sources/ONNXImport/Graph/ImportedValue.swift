#if ONNXImport
/// What a name of an ONNX graph stands for while the graph is imported.
enum ImportedValue {
    case constant(ConstantTensor)
    case tensor(ImportedTensor)

    var extents: [Int] {
        switch self {
        case .constant(let constant): constant.extents
        case .tensor(let tensor): tensor.extents
        }
    }
}

/// The output of a layer, and what its shape is in the ONNX graph.
struct ImportedTensor {
    /// How a layer's output is stored.
    enum Layout {
        case image, map, array
        /// A map, or the image, whose channels are the last axis in the ONNX graph: a transposition that costs nothing
        /// as long as what follows works on channels.
        case mapChannelsLast, imageChannelsLast
    }

    var node: String
    var extents: [Int]
    var layout: Layout
}
#endif
