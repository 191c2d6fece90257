#if ONNXImport
public import Lookalike

/// Why an ONNX file cannot be imported.
public struct ImportError: DescribedError, Equatable {
    /// What is wrong with the file.
    public enum Reason: Error, Equatable, Sendable {
        /// The file does not exist or may not be read; the system's message.
        case unreadable(String)
        /// Not an ONNX file, or one that contradicts itself.
        case malformed(String)
        /// The graph as a whole cannot be imported: its version, its input or its output.
        case graph(String)
        /// A node cannot be imported; its name, its operator, and what is missing.
        case node(name: String, operator: String, String)
    }

    /// The path of the file, or what the caller called it.
    public var subject: String
    /// What is wrong.
    public var reason: Reason

    /// An error about a file.
    public init(subject: String, reason: Reason) {
        self.subject = subject
        self.reason = reason
    }

    public var description: String { "\(subject): \(words)" }

    private var words: String {
        switch reason {
        case .unreadable(let words): "cannot be read: \(words)"
        case .malformed(let words): "is not a usable ONNX file: \(words)"
        case .graph(let words): "\(words)"
        case .node(let name, let kind, let words): "node “\(name)” (\(kind)) \(words)"
        }
    }
}
#endif
