#if ONNXImport
import Foundation

extension ConstantTensor {
    /// The most elements of a tensor: two gigabytes of floats, as much as a file of the format holds.
    static let mostElements = 1 << 29
    /// The most axes of a tensor: as many as a layer may have.
    private static let mostAxes = 16

    /// Whether the extents are not negative and so small that no product of some of them overflows, even beside a zero.
    static func isPossible(_ extents: [Int]) -> Bool {
        guard extents.count <= mostAxes else { return false }
        var count = 1
        for extent in extents {
            guard (0...mostElements).contains(extent), count * max(extent, 1) <= mostElements else { return false }
            count *= max(extent, 1)
        }
        return true
    }

    /// The number types of the format, by their numbers.
    enum Element: Int32 {
        case float = 1
        case uint8, int8, uint16, int16, int32, int64, string, bool, float16, double, uint32, uint64
        case bfloat16 = 16

        var byteCount: Int? {
            switch self {
            case .uint8, .int8, .bool: 1
            case .uint16, .int16, .float16, .bfloat16: 2
            case .float, .int32, .uint32: 4
            case .int64, .uint64, .double: 8
            case .string: nil
            }
        }
    }

    /// Reads a tensor of a file.
    ///
    /// - Throws: `ImportError.Reason.malformed` if its data does not have its shape, or is of a type that is not read.
    init(_ tensor: ONNXTensor, _ external: ExternalData) throws(ImportError.Reason) {
        let name = "tensor “\(tensor.name)”"
        var extents: [Int] = []
        for extent in tensor.dims {
            guard extent >= 0, let extent = Int(exactly: extent), extent <= Self.mostElements else {
                throw .malformed("\(name) has the impossible shape \(tensor.dims)")
            }
            extents.append(extent)
        }
        guard Self.isPossible(extents) else { throw .malformed("\(name) has the impossible shape \(extents)") }
        let count = extents.reduce(1, *)
        guard let element = Element(rawValue: tensor.dataType), let size = element.byteCount else {
            throw .malformed("\(name) is of the element type \(tensor.dataType), which is not read")
        }
        let isExternal = tensor.dataLocation == 1
        let raw = isExternal ? try external.bytes(of: tensor, count: count * size) : tensor.rawData
        if !raw.isEmpty {
            guard raw.count == count * size else {
                throw .malformed("\(name) has \(raw.count) bytes, but its shape \(extents) needs \(count * size)")
            }
            self.init(extents: extents, raw.withUnsafeBytes { Self.values(in: $0, element, count: count) })
        } else {
            let values = Self.values(in: tensor, element)
            self.init(extents: extents, values)
            guard self.count == count else {
                throw .malformed("\(name) has \(self.count) elements, but its shape \(extents) needs \(count)")
            }
        }
        if case .floats(let floats) = values, let index = floats.firstIndex(where: \.isNaN) {
            throw .malformed("\(name) is not a number at position \(index)")
        }
    }

    private static func values(in bytes: UnsafeRawBufferPointer, _ element: Element, count: Int) -> Values {
        func all<Number: FixedWidthInteger>(_ type: Number.Type) -> [Number] {
            (0..<count).map {
                Number(
                    littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * MemoryLayout<Number>.size, as: Number.self))
            }
        }
        return switch element {
        case .float: .floats(all(UInt32.self).map { Float(bitPattern: $0) })
        case .double: .floats(all(UInt64.self).map { Float(Double(bitPattern: $0)) })
        case .float16: .floats(all(UInt16.self).map(widened))
        case .bfloat16: .floats(all(UInt16.self).map { Float(bitPattern: UInt32($0) << 16) })
        case .uint8, .bool: .integers(all(UInt8.self).map(Int.init))
        case .int8: .integers(all(Int8.self).map(Int.init))
        case .uint16: .integers(all(UInt16.self).map(Int.init))
        case .int16: .integers(all(Int16.self).map(Int.init))
        case .int32: .integers(all(Int32.self).map(Int.init))
        case .int64: .integers(all(Int64.self).map { Int($0) })
        case .uint32: .integers(all(UInt32.self).map { Int($0) })
        case .uint64: .integers(all(UInt64.self).map { Int(clamping: $0) })
        case .string: .integers([])
        }
    }

    /// The values of a tensor whose elements are fields of the message.
    private static func values(in tensor: ONNXTensor, _ element: Element) -> Values {
        switch element {
        case .float: .floats(tensor.floatData)
        case .double: .floats(tensor.doubleData.map { Float($0) })
        case .float16: .floats(tensor.int32Data.map { widened(UInt16(truncatingIfNeeded: $0)) })
        case .bfloat16:
            .floats(tensor.int32Data.map { Float(bitPattern: UInt32(UInt16(truncatingIfNeeded: $0)) << 16) })
        case .int64: .integers(tensor.int64Data.map { Int($0) })
        case .uint32, .uint64: .integers(tensor.uint64Data.map { Int(clamping: $0) })
        default: .integers(tensor.int32Data.map { Int($0) })
        }
    }

    /// IEEE 754 binary16 to binary32: sign, exponent and fraction at their new places.
    private static func widened(_ half: UInt16) -> Float {
        let magnitude = UInt32(half & 0x7FFF)
        let sign = UInt32(half & 0x8000) << 16
        if magnitude >= 0x7C00 { return Float(bitPattern: sign | 0x7F80_0000 | (magnitude & 0x3FF) << 13) }
        let finite = Float(bitPattern: magnitude << 13) * 0x1p112
        return Float(bitPattern: finite.bitPattern | sign)
    }
}
#endif
