#if ONNXImport
import Foundation

extension ONNXNode {
    /// The name of the node in messages: its own, or that of its output.
    var displayName: String { name.isEmpty ? output.first ?? "" : name }

    private func attribute(_ name: String) -> ONNXAttribute? { attribute.first { $0.name == name } }

    func has(_ name: String) -> Bool { attribute(name) != nil }

    /// An error about this node.
    func problem(_ words: String) -> ImportError.Reason { .node(name: displayName, operator: opType, words) }

    func integer(_ name: String, default value: Int) -> Int {
        attribute(name).map { Int(truncatingIfNeeded: $0.i) } ?? value
    }

    func float(_ name: String, default value: Float) -> Float { attribute(name).map(\.f) ?? value }

    func integers(_ name: String) -> [Int]? { attribute(name).map { $0.ints.map { Int(truncatingIfNeeded: $0) } } }

    func floats(_ name: String) -> [Float]? { attribute(name).map(\.floats) }

    func string(_ name: String, default value: String) -> String {
        attribute(name).flatMap { String(bytes: $0.s, encoding: .utf8) } ?? value
    }

    func graph(_ name: String) -> ONNXGraph? { attribute(name).flatMap { $0.hasG ? $0.g : nil } }

    func tensor(_ name: String) -> ONNXTensor? { attribute(name).map(\.t) }

    /// An axis as an index from 0: negative ones count from the end.
    func axis(_ axis: Int, rank: Int) throws(ImportError.Reason) -> Int {
        guard (-rank..<rank).contains(axis) else { throw problem("has axis \(axis), but its input has \(rank) axes") }
        return axis < 0 ? axis + rank : axis
    }
}
#endif
