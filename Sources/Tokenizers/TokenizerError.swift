/// Why a tokenizer cannot be read.
package enum TokenizerError: Error, Equatable, CustomStringConvertible {
    /// The file contradicts itself.
    case malformed(String)
    /// The file asks for something that is not supported, by its name in the file.
    case unsupported(String)

    package var description: String {
        switch self {
        case .malformed(let words): "is no usable tokenizer: \(words)"
        case .unsupported(let words): "has \(words), which is not supported"
        }
    }
}
