import CKernels
import Compute
package import Foundation

/// A safetensors file in memory, its table of contents checked against its bytes.
///
/// Eight bytes with the length of a JSON header, the header, the tensors' bytes
/// (https://huggingface.co/docs/safetensors, "Format").
package struct SafeTensorsFile {
    struct Tensor: Decodable {
        let dtype: String
        let shape: [Int]
        let data_offsets: [Int]
    }

    package let metadata: [String: String]
    package let data: Data
    /// The position of the first tensor byte in `data`.
    package let base: Int
    private let tensors: [String: Tensor]
    private let formats: [String: NumberFormat]

    /// The largest header that the format allows.
    private static let longestHeader = 100_000_000

    package init(_ bytes: Data) throws(ModelError.Reason) {
        // Positions count from the first byte, which in a part of other data has another index.
        let data = bytes.startIndex == 0 ? bytes : Data(bytes)
        guard data.count >= 8 else { throw .malformed("it has only \(data.count) bytes") }
        let length = data.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
        guard length <= Self.longestHeader, Int(length) <= data.count - 8 else {
            throw .malformed("its header claims \(length) bytes, but the file has \(data.count)")
        }
        base = 8 + Int(length)
        let header: SafeTensorsHeader
        do {
            header = try JSONDecoder().decode(SafeTensorsHeader.self, from: data.subdata(in: 8..<base))
        } catch {
            throw .malformed("its header cannot be decoded (\(describe(error)))")
        }
        metadata = header.metadata
        tensors = header.tensors
        self.data = data
        formats = try Self.checked(header.tensors, byteCount: data.count - base)
    }

    /// A value that the metadata has in JSON; nil if they lack the key.
    package func decoded<Value: Decodable>(_: Value.Type, from key: String) throws(ModelError.Reason) -> Value? {
        guard let text = metadata[key] else { return nil }
        do {
            return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
        } catch {
            throw .malformed("the metadata “\(key)” cannot be decoded (\(describe(error)))")
        }
    }

    /// The bytes of the file with other metadata; the tensors stay.
    package func data(with metadata: [String: String]) throws -> Data {
        guard var header = try JSONSerialization.jsonObject(with: data[8..<base]) as? [String: Any] else {
            throw ModelError.Reason.malformed("its header is no object")
        }
        header["__metadata__"] = metadata
        var json = try JSONSerialization.data(withJSONObject: header, options: .sortedKeys)
        // Tensors start at a multiple of eight bytes.
        json.append(Data(repeating: UInt8(ascii: " "), count: (8 - json.count % 8) % 8))
        return withUnsafeBytes(of: UInt64(json.count).littleEndian) { Data($0) } + json + data[base...]
    }

    package var names: [String] { Array(tensors.keys) }

    package func shape(of name: String) -> [Int]? { tensors[name]?.shape }

    /// The number of a tensor's elements; 0 for a tensor that is missing.
    func elementCount(of name: String) -> Int { tensors[name]?.shape.reduce(1, *) ?? 0 }

    /// Where the tensor's bytes lie in `data`.
    package func range(of name: String) -> Range<Int>? {
        tensors[name].map { (base + $0.data_offsets[0])..<(base + $0.data_offsets[1]) }
    }

    /// The tensor's numbers in row-major order.
    ///
    /// - Throws: `unusableTensor` if it is missing, has another shape, or has a value that is not finite.
    package func floats(_ name: String, shape: [Int]) throws(ModelError.Reason) -> [Float] {
        try numbers(name, shape: shape).floats
    }

    /// The tensor's numbers in row-major order, not converted yet.
    func numbers(_ name: String, shape: [Int]) throws(ModelError.Reason) -> StoredNumbers {
        guard let tensor = tensors[name], let format = formats[name], let range = range(of: name) else {
            throw .unusableTensor(name: name, "is named by the graph, but missing from the file")
        }
        guard tensor.shape == shape else {
            throw .unusableTensor(name: name, "has the shape \(tensor.shape), but the graph needs \(shape)")
        }
        let numbers = StoredNumbers(data[range], format: format)
        if !numbers.areFinite, let (index, value) = numbers.floats.enumerated().first(where: { !$1.isFinite }) {
            throw .unusableTensor(name: name, "has the value \(value) at position \(index)")
        }
        return numbers
    }

    /// The tensor's numbers in row-major order if their type is F16 (IEEE 754 binary16); nil for another type.
    ///
    /// - Throws: as ``floats(_:shape:)``.
    package func halves(_ name: String, shape: [Int]) throws(ModelError.Reason) -> [UInt16]? {
        try numbers(name, shape: shape).halves
    }

    /// The numbers of a tensor of type U8, in row-major order.
    ///
    /// - Throws: `unusableTensor` if it is missing, or has another type or shape.
    package func bytes(_ name: String, shape: [Int]) throws(ModelError.Reason) -> [UInt8] {
        guard let tensor = tensors[name], let range = range(of: name) else {
            throw .unusableTensor(name: name, "is missing from the file")
        }
        guard formats[name] == .uint8, tensor.shape == shape else {
            throw .unusableTensor(name: name, "is \(tensor.dtype) \(tensor.shape) and not U8 \(shape)")
        }
        return Array(data[range])
    }

    private static func checked(
        _ tensors: [String: Tensor], byteCount: Int
    ) throws(ModelError.Reason) -> [String: NumberFormat] {
        var formats: [String: NumberFormat] = [:]
        var ranges: [(range: Range<Int>, name: String)] = []
        for (name, tensor) in tensors.sorted(by: { $0.key < $1.key }) {
            guard let format = NumberFormat(rawValue: tensor.dtype) else {
                throw .unusableTensor(name: name, "is of type \(tensor.dtype); F32, F16, BF16 and U8 are supported")
            }
            var size = format.byteCount
            for extent in tensor.shape {
                let (product, overflow) = size.multipliedReportingOverflow(by: extent)
                guard extent >= 0, !overflow else {
                    throw .unusableTensor(name: name, "has the impossible shape \(tensor.shape)")
                }
                size = product
            }
            let offsets = tensor.data_offsets
            guard offsets.count == 2, offsets[0] >= 0, offsets[0] <= offsets[1], offsets[1] <= byteCount else {
                throw .unusableTensor(
                    name: name, "lies at \(offsets), outside the file's \(byteCount) bytes of tensors")
            }
            guard offsets[1] - offsets[0] == size else {
                throw .unusableTensor(
                    name: name, "has \(offsets[1] - offsets[0]) bytes, but its shape \(tensor.shape) needs \(size)")
            }
            formats[name] = format
            if size > 0 { ranges.append((offsets[0]..<offsets[1], name)) }
        }
        ranges.sort { $0.range.lowerBound < $1.range.lowerBound }
        for (one, next) in zip(ranges, ranges.dropFirst()) where one.range.upperBound > next.range.lowerBound {
            throw .unusableTensor(name: next.name, "overlaps tensor “\(one.name)”")
        }
        return formats
    }
}

/// A key of a JSON object whose keys are not known.
struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

private struct SafeTensorsHeader: Decodable {
    var metadata: [String: String] = [:]
    var tensors: [String: SafeTensorsFile.Tensor] = [:]

    init(from decoder: any Decoder) throws {
        let entries = try decoder.container(keyedBy: AnyKey.self)
        for key in entries.allKeys {
            if key.stringValue == "__metadata__" {
                metadata = try entries.decode([String: String].self, forKey: key)
            } else {
                tensors[key.stringValue] = try entries.decode(SafeTensorsFile.Tensor.self, forKey: key)
            }
        }
    }
}

/// Numbers as a file stores them, in row-major order, converted to float32 as they are read.
///
/// A network's weights are packed straight from its file: floats would be twice as many bytes, written and read once
/// more.
struct StoredNumbers: Sendable {
    private let bytes: Data
    private let format: NumberFormat

    /// - Precondition: `bytes` has whole numbers. They need not be aligned.
    init(_ bytes: Data, format: NumberFormat) {
        precondition(bytes.count % format.byteCount == 0, "\(bytes.count) bytes in numbers of \(format.byteCount)")
        (self.bytes, self.format) = (bytes, format)
    }

    /// Copies floats.
    init(_ floats: [Float]) { self.init(floats.withUnsafeBytes { Data($0) }, format: .float32) }

    var count: Int { bytes.count / format.byteCount }

    /// Some of the numbers, without a copy.
    subscript(_ range: Range<Int>) -> StoredNumbers {
        let (start, size) = (bytes.startIndex, format.byteCount)
        return StoredNumbers(
            bytes[(start + range.lowerBound * size)..<(start + range.upperBound * size)], format: format)
    }

    /// Half-precision numbers as they are stored; nil for another format.
    var halves: [UInt16]? {
        guard format == .float16 else { return nil }
        return [UInt16](unsafeUninitializedCapacity: count) { halves, initialized in
            initialized = bytes.copyBytes(to: halves) / format.byteCount
        }
    }

    var areFinite: Bool { withKernelArguments { lk_are_finite($0, $1, count) } }

    var floats: [Float] {
        [Float](unsafeUninitializedCapacity: count) { floats, initialized in
            guard let floats = floats.baseAddress else { return }
            withKernelArguments { lk_widen($0, $1, count, floats) }
            initialized = count
        }
    }

    /// Calls `body` for every block of 16 outputs, on all threads: the block's number, the numbers of its outputs with
    /// their format, and how many outputs it has.
    ///
    /// - Parameter products: the numbers of an output.
    /// - Precondition: these are the numbers of all `outputs`, one after another.
    func forEachBlock(
        of outputs: Int, products: Int, _ body: @Sendable (Int, UnsafeRawPointer, lk_number_format, Int) -> Void
    ) {
        precondition(count == outputs * products, "\(count) numbers for \(outputs) outputs of \(products)")
        let block = TensorShape.channelBlock
        withKernelArguments { numbers, format in
            guard let numbers else { return }
            nonisolated(unsafe) let start = numbers
            _ = concurrentMap(TensorShape.blockCount(outputs), threads: availableThreadCount) { index in
                body(
                    index, start + index * block * products * self.format.byteCount, format,
                    min(block, outputs - index * block))
            }
        }
    }

    /// Calls `body` with the address and the format that kernels take.
    func withKernelArguments<Result>(_ body: (UnsafeRawPointer?, lk_number_format) -> Result) -> Result {
        bytes.withUnsafeBytes { body($0.baseAddress, format.kernelFormat) }
    }
}

/// The formats of stored numbers. Weights are converted to float32.
enum NumberFormat: String, Sendable {
    case float32 = "F32"
    case float16 = "F16"
    case bfloat16 = "BF16"
    case uint8 = "U8"

    var kernelFormat: lk_number_format {
        switch self {
        case .float32: LK_FLOAT32
        case .float16: LK_FLOAT16
        case .bfloat16: LK_BFLOAT16
        case .uint8: LK_UINT8
        }
    }

    var byteCount: Int { lk_number_size(kernelFormat) }
}
