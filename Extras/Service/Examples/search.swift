// Puts an image into a catalog and searches for a photo, with URLSession.
//
// search URL IMAGE PHOTO; LOOKALIKE_KEY has the API key, if the service wants one.

import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

struct Answer: Decodable {
    struct Result: Decodable {
        struct Entity: Decodable {
            let id: String
            let title: String?
        }

        let entity: Entity
        let confidence: Double
    }

    let results: [Result]
}

struct Problem: Decodable, Error {
    let code: String
    let detail: String
}

@main
struct Search {
    static func main() async throws {
        let arguments = CommandLine.arguments
        let (image, photo) = (URL(fileURLWithPath: arguments[2]), URL(fileURLWithPath: arguments[3]))
        let base = arguments[1]
        _ = try await call("PUT", base + "/v1/catalogs/swift")
        _ = try await call(
            "PUT", base + "/v1/catalogs/swift/entities/first?title=The%20first", body: Data(contentsOf: image))
        let data = try await call("POST", base + "/v1/catalogs/swift/search?limit=5", body: Data(contentsOf: photo))
        for result in try JSONDecoder().decode(Answer.self, from: data).results {
            print("\(Int((result.confidence * 100).rounded())) %  \(result.entity.title ?? result.entity.id)")
        }
        _ = try await call("DELETE", base + "/v1/catalogs/swift")
    }

    static func call(_ method: String, _ url: String, body: Data? = nil) async throws -> Data {
        var request = URLRequest(url: URL(string: url)!)
        request.httpMethod = method
        request.httpBody = body
        if body != nil { request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type") }
        if let key = ProcessInfo.processInfo.environment["LOOKALIKE_KEY"] {
            request.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization")
        }
        let (data, response) = try await URLSession.shared.data(for: request)
        guard (response as? HTTPURLResponse).map({ $0.statusCode < 300 }) == true else {
            throw try JSONDecoder().decode(Problem.self, from: data)
        }
        return data
    }
}
