public import Compute
import Foundation
public import VectorSearch

/// A global image descriptor, or embedding: a unit vector that is close to those of similar images.
///
/// Distances lie in 0...2. Two images most likely show the same thing if their distance is below
/// ``FeaturePrintModel/matchThreshold``.
public struct FeaturePrint: Sendable, Hashable {
    /// The components; the sum of their squares is 1.
    public let vector: [Float]
    /// The model that made it. Only prints of one model can be compared.
    public let model: ModelIdentity

    /// A print from stored components.
    ///
    /// - Precondition: the components are finite.
    public init(vector: [Float], model: ModelIdentity) {
        require(vector.allSatisfy(\.isFinite), "a component of the print is not finite")
        (self.vector, self.model) = (vector, model)
    }

    /// The Euclidean distance, 0...2 for unit vectors. O(dimension).
    ///
    /// - Throws: ``FeaturePrintError`` if the prints were made with different models or have different dimensions.
    public func distance(to other: FeaturePrint) throws(FeaturePrintError) -> Double {
        guard model == other.model else { throw .differentModels(model, other.model) }
        guard vector.count == other.vector.count else {
            throw .wrongDimension(other.vector.count, expected: vector.count)
        }
        var sum = 0.0
        for (a, b) in zip(vector, other.vector) {
            let difference = Double(a) - Double(b)
            sum += difference * difference
        }
        return sum.squareRoot()
    }
}

extension PrintMatrix {
    /// The matrix of prints, a row each: what `ExactSearch`, `BatchedDistances` and `InvertedFileIndex` compare with.
    ///
    /// - Throws: ``FeaturePrintError`` if the prints were made with different models or have different dimensions.
    /// - Precondition: there is a print.
    /// - Complexity: O(prints · dimension).
    public init(_ prints: [FeaturePrint]) throws(FeaturePrintError) {
        guard let first = prints.first else { preconditionFailure("a matrix of prints has at least one") }
        for print in prints {
            guard print.model == first.model else { throw .differentModels(first.model, print.model) }
            guard print.vector.count == first.vector.count else {
                throw .wrongDimension(print.vector.count, expected: first.vector.count)
            }
        }
        self.init(prints.flatMap(\.vector), dimension: first.vector.count)
    }
}

/// Coded as the model's identity and the components: little-endian 32-bit floats, which JSON has in Base64.
extension FeaturePrint: Codable {
    private enum CodingKeys: String, CodingKey { case model, vector }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let bytes = try values.decode(Data.self, forKey: .vector)
        let size = MemoryLayout<UInt32>.size
        let vector = bytes.withUnsafeBytes { bytes in
            stride(from: 0, through: bytes.count - size, by: size).map { offset in
                Float(bitPattern: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
            }
        }
        guard !vector.isEmpty, bytes.count % size == 0, vector.allSatisfy(\.isFinite) else {
            throw DecodingError.dataCorruptedError(
                forKey: .vector, in: values,
                debugDescription: "\(bytes.count) bytes are not the finite 32-bit floats of a print")
        }
        self.init(vector: vector, model: try values.decode(ModelIdentity.self, forKey: .model))
    }

    public func encode(to encoder: any Encoder) throws {
        var bytes = Data(capacity: vector.count * MemoryLayout<UInt32>.size)
        for value in vector { withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes.append(contentsOf: $0) } }
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(model, forKey: .model)
        try values.encode(bytes, forKey: .vector)
    }
}

/// Why two prints cannot be compared.
public enum FeaturePrintError: DescribedError, Equatable {
    /// The prints were made with different models, whose distances mean nothing.
    case differentModels(ModelIdentity, ModelIdentity)
    /// A print has this number of components instead of the expected one.
    case wrongDimension(Int, expected: Int)
    /// A print is longer than a unit vector.
    case notNormalized(norm: Double)

    public var description: String {
        switch self {
        case .differentModels(let one, let other):
            "a print of model \(one) cannot be compared with one of model \(other); make both with one model"
        case .wrongDimension(let count, let expected): "the print has \(count) components, not \(expected)"
        case .notNormalized(let norm): "the print has the norm \(norm), not 1"
        }
    }
}

/// The network that made a print. Only prints of one network can be compared.
public struct ModelIdentity: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The name in the model file, for display.
    public let name: String
    /// SHA-256 of the graph and the weights, hexadecimal.
    public let digest: String

    /// An identity, as stored with a catalog.
    ///
    /// - Parameter digest: SHA-256, hexadecimal. It alone decides equality.
    public init(name: String, digest: String) { (self.name, self.digest) = (name, digest) }

    public static func == (a: Self, b: Self) -> Bool { a.digest == b.digest }
    public func hash(into hasher: inout Hasher) { hasher.combine(digest) }

    public var description: String { "\(name) (\(digest.prefix(12)))" }
}
