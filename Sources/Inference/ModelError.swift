public import Compute
package import Foundation

/// Why a model file cannot be used, or an image cannot be embedded with it.
public struct ModelError: DescribedError, Equatable {
    /// What is wrong with the model.
    public enum Reason: Equatable, Sendable {
        /// The file does not exist or may not be read; the system's message.
        case unreadable(String)
        /// The file of a default model is at none of the places that were searched.
        case notFound(places: [String])
        /// Not a safetensors file, or one that contradicts itself.
        case malformed(String)
        /// The layer graph is missing, or cannot be run; says which layer.
        case unusableGraph(String)
        /// A tensor that the graph names is missing, has another shape, or is not finite.
        case unusableTensor(name: String, String)
        /// The layer graph has a version that this package does not read.
        case unknownVersion(Int)
        /// int8 was requested, but the file has no activation ranges.
        case noActivationRanges
        /// The output of the network for an image is zero or not finite.
        case noDirection
        /// The network's output is longer than a unit vector, so that distances mean nothing.
        case notNormalized(norm: Double)
        /// The model reads images alone, so that words find nothing.
        case readsNoTexts
    }

    /// The path of the file, or the name of the model.
    public var subject: String
    /// What is wrong.
    public var reason: Reason

    /// An error about a model.
    public init(subject: String, reason: Reason) { (self.subject, self.reason) = (subject, reason) }

    public var description: String { "\(subject): \(words)" }

    private var words: String {
        switch reason {
        case .unreadable(let words): "cannot be read: \(words)"
        case .notFound(let places):
            "was not found; it was looked for at \(places.joined(separator: ", ")). "
                + "Put it beside the program, or set LOOKALIKE_MODEL to its path or folder"
        case .malformed(let words): "is not a usable safetensors file: \(words)"
        case .unusableGraph(let words): "its layer graph cannot be run: \(words)"
        case .unusableTensor(let name, let words): "tensor “\(name)” \(words)"
        case .unknownVersion(let version):
            "its layer graph has version \(version); this program reads version \(NetworkGraph.version)"
        case .noActivationRanges:
            "cannot be computed in int8: the metadata has no activation ranges "
                + "(“\(Quantization.metadataKey)”)"
        case .noDirection: "the network's output for an image is zero or not finite"
        case .notNormalized(let norm):
            "the network's output for an image has the norm \(norm), not 1; its last layer has to be "
                + "“l2_normalize”"
        case .readsNoTexts:
            "the model reads images alone, so that words find nothing; “lookalike model import --text” makes one of "
                + "both"
        }
    }
}

extension ModelError.Reason: Error {}

/// The bytes of a model file.
///
/// - Throws: `ModelError` if the file cannot be read.
package func contents(ofModelFile url: URL) throws(ModelError) -> Data {
    guard url.isFileURL else {
        throw ModelError(
            subject: url.absoluteString,
            reason: .unreadable("it is a URL, and URLs are not downloaded; download the file and give its path"))
    }
    do {
        return try contents(ofFile: url.path, limit: 1 << 40)
    } catch {
        let words =
            switch error {
            case .notAFile: "it is not a file"
            case .tooLarge(let bytes, _): "it has \(bytes) bytes"
            case .outOfMemory(let bytes): "cannot allocate \(bytes) bytes"
            case .unreadable(let words): words
            }
        throw ModelError(subject: url.path, reason: .unreadable(words))
    }
}

/// A decoding error in a few words: the key path, and what is wrong.
package func describe(_ error: any Error) -> String {
    func path(_ context: DecodingError.Context) -> String {
        let keys = context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }
        return keys.isEmpty ? "" : "at \(keys.joined(separator: ".")): "
    }
    switch error as? DecodingError {
    case .keyNotFound(let key, let context): return "\(path(context))“\(key.stringValue)” is missing"
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
        return path(context) + context.debugDescription
    default: return "\(error)"
    }
}
