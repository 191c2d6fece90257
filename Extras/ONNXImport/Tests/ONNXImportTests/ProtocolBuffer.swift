import Foundation

/// A message in the encoding of protocol buffers, field by field, so that tests can make files that no exporter writes.
///
/// https://protobuf.dev/programming-guides/encoding
struct ProtocolBuffer {
    private(set) var data = Data()

    private mutating func addNumber(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            data.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        data.append(UInt8(rest))
    }

    func adding(_ field: UInt64, _ number: Int) -> ProtocolBuffer {
        var result = self
        result.addNumber(field << 3)
        result.addNumber(UInt64(bitPattern: Int64(number)))
        return result
    }

    func adding(_ field: UInt64, _ number: Float) -> ProtocolBuffer {
        var result = self
        result.addNumber(field << 3 | 5)
        withUnsafeBytes(of: number.bitPattern.littleEndian) { result.data.append(contentsOf: $0) }
        return result
    }

    func adding(_ field: UInt64, _ bytes: Data) -> ProtocolBuffer {
        var result = self
        result.addNumber(field << 3 | 2)
        result.addNumber(UInt64(bytes.count))
        result.data.append(bytes)
        return result
    }

    func adding(_ field: UInt64, _ text: String) -> ProtocolBuffer { adding(field, Data(text.utf8)) }
    func adding(_ field: UInt64, _ message: ProtocolBuffer) -> ProtocolBuffer { adding(field, message.data) }
}

/// Files in ONNX format, with the fields that the tests need.
extension ProtocolBuffer {
    /// - Parameters:
    ///   - element: the number of the input's type; 1 is float.
    ///   - input: the shape of the input.
    static func model(
        _ nodes: [ProtocolBuffer], initializers: [ProtocolBuffer] = [], outputs: [String] = ["out"], element: Int = 1,
        input: [Int] = [1, 3, 8, 8], otherInputs: [ProtocolBuffer] = []
    ) -> ProtocolBuffer {
        var shape = ProtocolBuffer()
        for extent in input { shape = shape.adding(1, ProtocolBuffer().adding(1, extent)) }
        let type = ProtocolBuffer().adding(1, ProtocolBuffer().adding(1, element).adding(2, shape))
        var graph = ProtocolBuffer().adding(11, ProtocolBuffer().adding(1, "image").adding(2, type))
        for input in otherInputs { graph = graph.adding(11, input) }
        for node in nodes { graph = graph.adding(1, node) }
        for initializer in initializers { graph = graph.adding(5, initializer) }
        for output in outputs { graph = graph.adding(12, ProtocolBuffer().adding(1, output)) }
        return ProtocolBuffer().adding(1, 8).adding(7, graph).adding(8, ProtocolBuffer().adding(2, 17))
    }

    static func node(
        _ kind: String, _ inputs: [String], _ output: String, _ attributes: [String: [Int]] = [:]
    ) -> ProtocolBuffer {
        var node = ProtocolBuffer()
        for input in inputs { node = node.adding(1, input) }
        node = node.adding(2, output).adding(4, kind)
        for (name, values) in attributes {
            var attribute = ProtocolBuffer().adding(1, name)
            for value in values { attribute = attribute.adding(8, value) }
            node = node.adding(5, attribute)
        }
        return node
    }

    /// A tensor of floats without data, since one of its extents is 0.
    static func empty(_ name: String, _ extents: [Int]) -> ProtocolBuffer {
        extents.reduce(ProtocolBuffer()) { $0.adding(1, $1) }.adding(2, 1).adding(8, name)
    }

    /// A tensor of floats; a scalar without extents.
    static func floats(_ name: String, _ values: [Float], _ extents: [Int] = []) -> ProtocolBuffer {
        let data = values.reduce(Data()) { $0 + withUnsafeBytes(of: $1.bitPattern.littleEndian) { Data($0) } }
        return extents.reduce(ProtocolBuffer()) { $0.adding(1, $1) }.adding(2, 1).adding(8, name).adding(9, data)
    }

    /// A tensor in half precision; a scalar without extents.
    static func halves(_ name: String, _ bits: [UInt16], _ extents: [Int] = []) -> ProtocolBuffer {
        let data = bits.reduce(Data()) { $0 + withUnsafeBytes(of: $1.littleEndian) { Data($0) } }
        return extents.reduce(ProtocolBuffer()) { $0.adding(1, $1) }.adding(2, 10).adding(8, name).adding(9, data)
    }

    /// A tensor of floats that lies in another file.
    static func external(_ name: String, _ extents: [Int], _ entries: [String: String]) -> ProtocolBuffer {
        let tensor = extents.reduce(ProtocolBuffer()) { $0.adding(1, $1) }.adding(2, 1).adding(8, name)
        return entries.reduce(tensor) { $0.adding(13, ProtocolBuffer().adding(1, $1.key).adding(2, $1.value)) }
            .adding(14, 1)
    }

    /// An attribute of a node that is one integer.
    func attribute(_ name: String, _ value: Int) -> ProtocolBuffer {
        adding(5, ProtocolBuffer().adding(1, name).adding(3, value).adding(20, 2))
    }

    /// An attribute of a node that is text.
    func attribute(_ name: String, _ value: String) -> ProtocolBuffer {
        adding(5, ProtocolBuffer().adding(1, name).adding(4, value).adding(20, 3))
    }

    /// An attribute of a node that is a number.
    func attribute(_ name: String, _ value: Float) -> ProtocolBuffer {
        adding(5, ProtocolBuffer().adding(1, name).adding(2, value).adding(20, 1))
    }

    /// An attribute of a node that is a graph.
    func attribute(_ name: String, nodes: [ProtocolBuffer], output: String) -> ProtocolBuffer {
        let graph = nodes.reduce(ProtocolBuffer()) { $0.adding(1, $1) }.adding(12, ProtocolBuffer().adding(1, output))
        return adding(5, ProtocolBuffer().adding(1, name).adding(6, graph).adding(20, 5))
    }

    /// A tensor of bytes, signed or not.
    static func bytes(_ name: String, _ values: [UInt8], _ extents: [Int] = [], isSigned: Bool = false)
        -> ProtocolBuffer
    {
        extents.reduce(ProtocolBuffer()) { $0.adding(1, $1) }.adding(2, isSigned ? 3 : 2).adding(8, name)
            .adding(9, Data(values))
    }

    /// A 64-bit integer without axes.
    static func integer(_ name: String, _ value: Int) -> ProtocolBuffer { integers(name, [value], []) }

    /// A tensor of 64-bit integers.
    static func integers(_ name: String, _ values: [Int], _ extents: [Int]? = nil) -> ProtocolBuffer {
        var tensor = (extents ?? [values.count]).reduce(ProtocolBuffer()) { $0.adding(1, $1) }.adding(2, 7)
            .adding(8, name)
        for value in values { tensor = tensor.adding(7, value) }
        return tensor
    }
}
