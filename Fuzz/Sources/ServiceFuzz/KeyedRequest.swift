import Foundation

/// A request to a service that wants keys. READKEY and WRITEKEY stand for them.
enum KeyedRequest {
    /// Without a key nothing of a catalog is read, and without the key for it nothing is written.
    static func send(_ request: Data) {
        let answer = HTTPConnection.answer(
            to: ServedCatalogs.withKeys(request), isComplete: false, port: ServedCatalogs.keyed.port)
        guard case .status(200..<300, _) = answer else { return }
        let words = String(decoding: request.prefix(4096), as: UTF8.self).split(separator: " ", maxSplits: 2)
        // A browser asks first, and has no key then.
        guard words.count > 1, words[0] != "OPTIONS", words[1].hasPrefix("/v1/catalogs") else { return }
        let isWrite = ["PUT", "PATCH", "DELETE"].contains(words[0]) || words[1].contains(":batch")
        let keys = isWrite ? ["WRITEKEY"] : ["WRITEKEY", "READKEY"]
        precondition(
            keys.contains { request.range(of: Data($0.utf8)) != nil },
            "\(words[0]) \(words[1]) was answered without a key")
    }
}
