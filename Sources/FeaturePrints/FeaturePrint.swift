import CKernels
public import Compute
package import Foundation
public import VectorSearch

/// A global image descriptor, or embedding: a unit vector that is close to those of similar images.
///
/// Distances lie in 0...2. Two images most likely show the same thing if their distance is below
/// ``FeaturePrintModel/matchThreshold``.
public struct FeaturePrint: Sendable, Hashable {
    /// The components. Each is a number of half precision, so that a print takes two bytes a component where it is
    /// stored, and is the same before and after. The sum of their squares is 1, up to that rounding.
    public let vector: [Float]
    /// The model that made it. Only prints of one model can be compared.
    public let model: ModelIdentity

    /// A print from components, which are rounded to half precision: by at most 2⁻¹¹ of their magnitude, or 2⁻²⁵.
    /// What is beyond ±65,504, its largest numbers, becomes these.
    ///
    /// - Precondition: the components are finite.
    public init(vector: [Float], model: ModelIdentity) {
        require(vector.allSatisfy(\.isFinite), "a component of the print is not finite")
        let halves = HalfPrecision.data(vector.map { min(max($0, -65_504), 65_504) })
        guard let rounded = HalfPrecision.vector(halves, dimension: vector.count) else {
            preconditionFailure("what is clamped is finite")
        }
        (self.vector, self.model) = (rounded, model)
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

/// Components in half precision (IEEE 754 binary16), little-endian, as prints are stored.
package enum HalfPrecision {
    private static let size = MemoryLayout<UInt16>.size

    /// The components, rounded to nearest, even on a tie. O(components).
    package static func data(_ vector: [Float]) -> Data {
        let halves = [UInt16](unsafeUninitializedCapacity: vector.count) { halves, count in
            if let halves = halves.baseAddress { lk_narrow(vector, vector.count, halves) }
            count = vector.count
        }
        return halves.withUnsafeBytes { Data($0) }
    }

    /// The components, exactly; nil if the dimension is another one, or if a component is not finite. O(components).
    package static func vector(_ data: Data, dimension: Int) -> [Float]? {
        guard data.count == dimension * size else { return nil }
        return data.withUnsafeBytes { bytes in
            guard lk_are_finite(bytes.baseAddress, LK_FLOAT16, dimension) else { return nil }
            return [Float](unsafeUninitializedCapacity: dimension) { vector, count in
                if let vector = vector.baseAddress { lk_widen(bytes.baseAddress, LK_FLOAT16, dimension, vector) }
                count = dimension
            }
        }
    }
}

/// Coded as the model's identity and the components: little-endian 16-bit floats, which JSON has in Base64.
extension FeaturePrint: Codable {
    private enum CodingKeys: String, CodingKey { case model, vector }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let bytes = try values.decode(Data.self, forKey: .vector)
        guard !bytes.isEmpty, let vector = HalfPrecision.vector(bytes, dimension: bytes.count / 2) else {
            throw DecodingError.dataCorruptedError(
                forKey: .vector, in: values,
                debugDescription: "\(bytes.count) bytes are not the finite 16-bit floats of a print")
        }
        (self.vector, model) = (vector, try values.decode(ModelIdentity.self, forKey: .model))
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(model, forKey: .model)
        try values.encode(HalfPrecision.data(vector), forKey: .vector)
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
