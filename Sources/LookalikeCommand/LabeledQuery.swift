import ArgumentParser
import Foundation

/// A query with the ids of the entities that it shows, and what it is grouped by.
struct LabeledQuery: Decodable {
    let path: String
    /// Empty if the query shows nothing of the catalog.
    let targets: Set<String>
    /// What recall is printed for; the kind of a query without a group.
    let group: String?

    private enum Key: String, CodingKey { case query, target, targets, group, kind }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        path = try container.decode(String.self, forKey: .query)
        // A mistyped key would make it a query that shows nothing.
        guard container.contains(.target) || container.contains(.targets) else {
            throw DecodingError.keyNotFound(
                Key.target, .init(codingPath: decoder.codingPath, debugDescription: "no target"))
        }
        let target = try container.decodeIfPresent(String.self, forKey: .target)
        let targets = try container.decodeIfPresent([String].self, forKey: .targets)
        self.targets = Set(targets ?? target.map { [$0] } ?? [])
        group =
            try container.decodeIfPresent(String.self, forKey: .group)
            ?? container.decodeIfPresent(String.self, forKey: .kind)
    }

    /// Reads a file of JSON lines, with their line numbers.
    static func read(_ file: URL) throws -> [(line: Int, query: LabeledQuery)] {
        let data: Data
        do {
            data = try Data(contentsOf: file)
        } catch {
            throw ValidationError("\(file.path) cannot be read: \((error as NSError).localizedDescription)")
        }
        var queries: [(Int, LabeledQuery)] = []
        // Of bytes: a string in JSON may have characters that Swift takes for the end of a line.
        for (index, line) in data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
        where !line.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) {
            guard let query = try? JSONDecoder().decode(LabeledQuery.self, from: Data(line)) else {
                throw ValidationError(
                    "\(file.path):\(index + 1): not a query such as {\"query\": \"a.jpg\", \"target\": \"id\"}")
            }
            queries.append((index + 1, query))
        }
        return queries
    }
}
