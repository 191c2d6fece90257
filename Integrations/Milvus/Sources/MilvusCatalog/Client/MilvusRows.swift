import Foundation
import Lookalike
import SwiftProtobuf

/// The rows of the collection: an image each.
///
/// `record`, `features` and `thumbnail` are fetched for few images at a time; searches read the vectors, and filters
/// `entity`, `place` and `fields`.
enum Field: String, CaseIterable {
    /// The image's key in the catalog, which is the primary key.
    case key
    /// The row of its entity.
    case entity
    /// Its place among the images of the entity; filters count entities by 0.
    case place
    /// The type of the entity, empty without; in a collection whose partitions are by type.
    case type
    /// SHA-256 of all that the row has.
    case digest
    /// What conditions ask for, see ``MilvusFilter``.
    case fields
    /// The entity (with its first image) and the image's file, as JSON.
    case record
    /// Local features in Base64; empty without.
    case features
    /// A JPEG file in Base64; empty without.
    case thumbnail
    /// The feature print.
    case print
    /// The visual words, see ``SparseWords``; not in a collection of a server without sparse vectors.
    case words

    /// Milvus's longest text.
    static let longestText = 65_535
}

extension MilvusFieldSchema {
    static func of(_ field: Field, _ type: MilvusDataType, _ parameters: KeyValuePairs<String, String> = [:]) -> Self {
        .with {
            $0.name = field.rawValue
            $0.dataType = type
            ($0.isPrimaryKey, $0.isPartitionKey) = (field == .key, field == .type)
            $0.typeParams = parameters.map(MilvusKeyValue.of)
        }
    }
}

extension MilvusKeyValue {
    static func of(_ key: String, _ value: String) -> Self { .with { ($0.key, $0.value) = (key, value) } }
}

extension MilvusFieldData {
    static func numbers(_ field: Field, _ values: [Int64]) -> Self {
        .with {
            ($0.type, $0.fieldName) = (.int64, field.rawValue)
            $0.scalars.longData.data = values
        }
    }

    static func texts(_ field: Field, _ values: [String]) -> Self {
        .with {
            ($0.type, $0.fieldName) = (.varchar, field.rawValue)
            $0.scalars.stringData.data = values
        }
    }

    static func json(_ field: Field, _ values: [Data]) -> Self {
        .with {
            ($0.type, $0.fieldName) = (.json, field.rawValue)
            $0.scalars.jsonData.data = values
        }
    }

    static func vectors(_ field: Field, _ values: [[Float]]) -> Self {
        .with {
            ($0.type, $0.fieldName) = (.floatVector, field.rawValue)
            $0.vectors.dim = Int64(values.first?.count ?? 0)
            $0.vectors.floatVector.data = values.flatMap(\.self)
        }
    }

    static func sparse(_ field: Field, _ values: [[UInt32: Float]]) -> Self {
        .with {
            ($0.type, $0.fieldName) = (.sparseFloatVector, field.rawValue)
            $0.vectors.dim = Int64(values.flatMap(\.keys).max() ?? 0) + 1
            $0.vectors.sparseFloatVector.dim = $0.vectors.dim
            $0.vectors.sparseFloatVector.contents = values.map(SparseWords.data)
        }
    }
}

/// The columns of an answer.
struct Columns {
    private let fields: [String: MilvusFieldData]

    init(_ fields: [MilvusFieldData]) {
        self.fields = Dictionary(fields.map { ($0.fieldName, $0) }) { first, _ in first }
    }

    func numbers(_ field: String) -> [Int64] { fields[field]?.scalars.longData.data ?? [] }
    func numbers(_ field: Field) -> [Int64] { numbers(field.rawValue) }
    func texts(_ field: Field) -> [String] { fields[field.rawValue]?.scalars.stringData.data ?? [] }

    func vectors(_ field: Field, count: Int) -> [[Float]] {
        guard let data = fields[field.rawValue]?.vectors.floatVector.data, count > 0, data.count % count == 0
        else { return [] }
        let dimension = data.count / count
        return (0..<count).map { Array(data[($0 * dimension)..<(($0 + 1) * dimension)]) }
    }
}

/// Visual words as a sparse vector: inner products of a query's and an image's approximate the votes of inverted lists.
///
/// Votes count features whose word is the same and whose 64-bit signatures differ in few bits (Hamming embedding; H.
/// Jégou et al., ECCV 2008). Here a dimension is a word and one of the eight bytes of a signature with its value. Two
/// signatures that differ in few bits have some bytes in common, others hardly one, so the product counts similar
/// features most.
struct SparseWords: Sendable {
    /// What a dimension is.
    enum Kind: String, Codable, Sendable {
        /// A word. Vectors are short, and features that are not similar count as much as similar ones.
        case words
        /// A word and a byte of the signature.
        case signatures
    }

    let kind: Kind

    /// Vectors of images with fewer features are normalized as if they had this many, as votes are.
    private static let fewestFeatures = 30

    /// The vector to store for an image: each dimension once, normalized by the number of features as votes are.
    func vector(ofImage words: [VisualWord]) -> [UInt32: Float] {
        let weight = 1 / Float(max(words.count, Self.fewestFeatures)).squareRoot()
        var vector: [UInt32: Float] = [:]
        for word in words { for dimension in dimensions(of: word) { vector[dimension] = weight } }
        // Servers refuse empty vectors. No word has this dimension.
        return vector.isEmpty ? [0: 1] : vector
    }

    /// The vector to search with: the number of features for each dimension.
    func vector(ofQuery words: [VisualWord]) -> [UInt32: Float] {
        var vector: [UInt32: Float] = [:]
        for word in words { for dimension in dimensions(of: word) { vector[dimension, default: 0] += 1 } }
        return vector
    }

    private func dimensions(of word: VisualWord) -> [UInt32] {
        switch kind {
        case .words: [UInt32(word.word) + 1]
        case .signatures:
            (0..<8).map { part in
                let byte = UInt32(truncatingIfNeeded: word.signature >> (8 * UInt64(part))) & 0xFF
                return (UInt32(word.word) << 11 | UInt32(part) << 8 | byte) + 1
            }
        }
    }

    /// Pairs of a dimension and a float, little-endian, by ascending dimensions.
    static func data(_ vector: [UInt32: Float]) -> Data {
        var data = Data(capacity: vector.count * 8)
        for (dimension, value) in vector.sorted(by: { $0.key < $1.key }) {
            withUnsafeBytes(of: dimension.littleEndian) { data.append(contentsOf: $0) }
            withUnsafeBytes(of: value.bitPattern.littleEndian) { data.append(contentsOf: $0) }
        }
        return data
    }
}
