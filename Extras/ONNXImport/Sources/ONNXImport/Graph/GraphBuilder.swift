#if ONNXImport
import Inference
import Lookalike

/// A network that is put together node by node, with its weights.
struct GraphBuilder {
    /// A tensor of the network's own.
    struct Weight {
        var shape: [Int]
        var values: [Float]
    }

    private(set) var nodes: [NetworkGraph.Node] = []
    private(set) var weights: [String: Weight] = [:]
    /// The elements of all weights. Nodes that share a constant may each have a copy of it.
    private(set) var weightCount = 0
    /// What the names of all tensors begin with.
    var weightPrefix = ""
    /// Sums of two maps of the same shape.
    var sumsOfEqualMaps: Set<String> = []
    private var names = ["image": 2, "text": 2]
    /// The tensor names too are unique: a weight is named after its layer.
    private var weightNames: [String: Int] = [:]

    /// Adds a layer; its name is `name` or one made of it.
    mutating func add(_ name: String, input: String, _ operation: any LayerOperation) -> String {
        let name = Self.unique(name, in: &names)
        nodes.append(NetworkGraph.Node(name: name, input: input, operation: operation))
        return name
    }

    /// Adds a tensor; its name is `name` or one made of it.
    mutating func addWeight(_ name: String, _ values: [Float], shape: [Int]) -> String {
        let name = Self.unique(weightPrefix + name, in: &weightNames)
        weightCount += values.count
        weights[name] = Weight(shape: shape, values: values)
        return name
    }

    /// - Parameter names: those that are taken, each with the number to try next.
    private static func unique(_ name: String, in names: inout [String: Int]) -> String {
        var candidate = name
        // Where the last search ended, since a file may repeat a name any number of times.
        var number = names[name] ?? 2
        while names[candidate] != nil {
            candidate = "\(name).\(number)"
            number += 1
        }
        names[name] = number
        if candidate != name { names[candidate] = 2 }
        return candidate
    }
}
#endif
