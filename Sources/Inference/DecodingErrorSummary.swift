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
