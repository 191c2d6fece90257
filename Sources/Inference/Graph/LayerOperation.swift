/// What a layer computes, with its parameters. Weights and biases are names of tensors in the file.
///
/// A tensor between layers has a shape whose first extent is 1, the image. Convolutions and what belongs to them
/// compute on *maps*, [1][channels][rows][columns], which are stored in blocks of sixteen channels. Other layers
/// give *arrays* of any shape, in row-major order, and read both. ``NetworkGraph/ToMap`` makes a map of an array.
///
/// The operations are the types of this module that conform, such as ``NetworkGraph/Convolution``; a network runs no
/// others.
public protocol LayerOperation: Sendable, Equatable, Codable {}

/// All that a network needs of an operation.
///
/// A new operation is a type with its layer in a file of its own beside ``NetworkGraph/Linear``, and a line in
/// ``NetworkGraph/operations``.
protocol RunnableOperation: LayerOperation {
    /// The keys of the JSON of a node, besides `name`, `op` and `input`.
    associatedtype CodingKeys: CodingKey, CaseIterable

    /// The values of `op` in the JSON that this type reads.
    static var names: [String] { get }
    /// The one that this value writes.
    var name: String { get }
    /// The nodes that are read besides the node's input.
    var otherInputs: [String] { get }
    /// The one of them that is read at the offsets that the output is written at, if any.
    var residual: String? { get }
    /// The tensors of the file that the layer reads.
    var tensorNames: [String] { get }
    /// What the operation does with int8 codes.
    var int8: Int8Rules { get }
    /// The kind of tensor that the operation makes of another.
    func kind(of input: TensorKind) -> TensorKind
    /// The most floats that the layer keeps for weights or a constant, from the shapes of its tensors alone.
    ///
    /// The file's size is no bound: any number of nodes may name one tensor, and packed weights have whole blocks of
    /// channels. For a tensor that is missing or has another shape than the layer needs, the number means nothing: the
    /// layer refuses it before it packs anything. Nothing overflows: a tensor's elements are in memory, and no factor
    /// is above 2¹³.
    func weightCount(in file: SafeTensorsFile) -> Int
    /// Checks the operation against the shapes of its inputs and the tensors of the file, and packs its weights.
    func makeLayer(_ description: LayerDescription) throws(ModelError.Reason) -> any Layer
}

/// What an operation does with tensors in int8.
struct Int8Rules {
    /// Whether the layer can read codes.
    var readsCodes = false
    /// Whether the layer can write codes of its own.
    var writesCodes = false
    /// Whether the layer reads codes and passes them on as they are.
    var keepsCodes = false
    /// Whether the layer quantizes the image as it reads it, if it writes codes.
    var quantizesImage = false
    /// Whether the layer quantizes a float32 vector, or the lines of an array, as it reads them.
    var quantizesLines = false
    /// The bounds of the values that the layer gives.
    var outputs = -Float.infinity...Float.infinity
}

/// What the graph alone says about the shape of a tensor.
enum TensorKind { case map, vector, other }

extension RunnableOperation {
    var name: String { Self.names[0] }
    var otherInputs: [String] { [] }
    var residual: String? { nil }
    var tensorNames: [String] { [] }
    var int8: Int8Rules { Int8Rules() }
    func kind(of input: TensorKind) -> TensorKind { .other }
    func weightCount(in file: SafeTensorsFile) -> Int { 0 }

    /// Floats per output besides its weights: the bias, the scale, and where its block begins.
    static var besidesWeights: Int { 4 }

    static var keys: Set<String> { Set(CodingKeys.allCases.map(\.stringValue)) }
}

extension NetworkGraph {
    /// The operations that graphs may have.
    private static let operations: [any RunnableOperation.Type] = [
        Activation.self, ArrayPadding.self, ChannelSelection.self, Choice.self, Combination.self, Comparison.self,
        Concatenation.self, Constant.self, Convolution.self, CornerVotes.self, GeneralizedMean.self,
        L2Normalization.self, Linear.self, Lookup.self, MatrixProduct.self,
        Normalization.self, Pooling.self, Rearrangement.self, Reduction.self, Resizing.self, Softmax.self, ToMap.self,
    ]

    /// The operations by the names that graphs call them, with the keys of a node's JSON.
    private static let registry: [String: (type: any RunnableOperation.Type, keys: Set<String>)] = Dictionary(
        uniqueKeysWithValues: operations.flatMap { type in
            let keys = type.keys.union(Node.Key.allCases.map(\.rawValue))
            return type.names.map { ($0, (type: type, keys: keys)) }
        })

    /// The operations by the names that graphs call them.
    package static var operationTypes: [String: any LayerOperation.Type] { registry.mapValues(\.type) }
}

/// In JSON a node is flat: the keys of its operation are beside its name.
///
/// A key that its operation does not have is an error. A layer that ignored `"dilation": 2` would run, and its prints
/// would be wrong.
extension NetworkGraph.Node: Codable {
    fileprivate enum Key: String, CodingKey, CaseIterable { case name, op, input }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        name = try values.decode(String.self, forKey: .name)
        input = try values.decode(String.self, forKey: .input)
        let op = try values.decode(String.self, forKey: .op)
        guard let known = NetworkGraph.registry[op] else {
            let names = NetworkGraph.registry.keys.sorted().joined(separator: ", ")
            throw DecodingError.dataCorruptedError(
                forKey: .op, in: values,
                debugDescription: "layer “\(name)” has the unknown type “\(op)”; known are \(names)")
        }
        try NetworkGraph.refuseOthers(than: known.keys, in: decoder, of: "layer “\(name)” (\(op))")
        operation = try known.type.init(from: decoder)
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(name, forKey: .name)
        try values.encode(input, forKey: .input)
        try values.encode(runnable.name, forKey: .op)
        try operation.encode(to: encoder)
    }
}

extension NetworkGraph.Node: Equatable {
    public static func == (a: Self, b: Self) -> Bool {
        func isEqual<Operation: LayerOperation>(_ operation: Operation) -> Bool {
            operation == b.operation as? Operation
        }
        return a.name == b.name && a.input == b.input && isEqual(a.operation)
    }
}

extension NetworkGraph.Node {
    /// The nodes that are read besides `input`.
    public var otherInputs: [String] { runnable.otherInputs }
    /// The tensors of the file that the layer reads.
    public var tensorNames: [String] { runnable.tensorNames }

    var runnable: any RunnableOperation {
        guard let operation = operation as? any RunnableOperation else {
            preconditionFailure("\(type(of: operation)) is no operation of this module")
        }
        return operation
    }
}
