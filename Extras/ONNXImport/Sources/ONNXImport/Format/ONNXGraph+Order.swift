#if ONNXImport
extension ONNXGraph {
    /// The nodes in their order, but each behind those whose outputs it reads: some converters append nodes at the end.
    ///
    /// - Throws: `ImportError.Reason.node` for one that depends on its own output.
    func sortedNodes() throws(ImportError.Reason) -> [ONNXNode] {
        var makers: [String: Int] = [:]
        for (index, node) in node.enumerated() {
            for output in node.output where !output.isEmpty { makers[output] = index }
        }
        enum State { case unseen, begun, done }
        var states = [State](repeating: .unseen, count: node.count)
        var sorted: [ONNXNode] = []
        for first in node.indices {
            // Not recursive, since any number of nodes may follow each other.
            var stack = [first]
            while let index = stack.last {
                if states[index] == .unseen {
                    states[index] = .begun
                    let inputs = Set(node[index].reads.compactMap { makers[$0] })
                    guard inputs.allSatisfy({ states[$0] != .begun }) else {
                        throw node[index].problem("depends on its own output")
                    }
                    stack += inputs.filter { states[$0] == .unseen }.sorted(by: >)
                } else {
                    stack.removeLast()
                    if states[index] == .begun {
                        states[index] = .done
                        sorted.append(node[index])
                    }
                }
            }
        }
        return sorted
    }

    /// Sorts the nodes, and removes what the outputs of these names do not need; nothing if they need no input.
    mutating func keep(outputs: [String]) throws(ImportError.Reason) {
        let sorted = try sortedNodes()
        var needed = Set(outputs)
        var kept: [ONNXNode] = []
        for node in sorted.reversed() where node.output.contains(where: needed.contains) {
            needed.formUnion(node.reads)
            kept.append(node)
        }
        let stored = Set(initializer.map(\.name))
        let inputs = input.filter { needed.contains($0.name) && !stored.contains($0.name) }
        guard !inputs.isEmpty else { return node = sorted }
        (node, input) = (kept.reversed(), inputs)
        initializer.removeAll { !needed.contains($0.name) }
    }
}

extension ONNXNode {
    /// The names that the node reads, and those that its branches read.
    fileprivate var reads: [String] {
        input + attribute.filter(\.hasG).flatMap { $0.g.node.flatMap(\.reads) + $0.g.output.map(\.name) }
    }
}
#endif
