extension String {
    /// The names that differ from this one by few letters, nearest first: three at most. Case is ignored.
    ///
    /// - Complexity: O(names), as long names are left out.
    package func nearest(among names: [String]) -> [String] {
        let own = Array(lowercased().prefix(Self.longestName + 1))
        guard own.count <= Self.longestName else { return [] }
        let limit = own.count < 4 ? 1 : own.count < 8 ? 2 : 3
        let near = names.compactMap { name -> (distance: Int, name: String)? in
            let other = Array(name.lowercased().prefix(own.count + limit + 1))
            guard abs(other.count - own.count) <= limit else { return nil }
            let distance = Self.editDistance(own, other)
            return distance <= limit ? (distance, name) : nil
        }
        return near.sorted { $0 < $1 }.prefix(3).map(\.name)
    }

    private static let longestName = 64

    /// How many letters have to be inserted, removed or replaced to make one text of another (Levenshtein).
    private static func editDistance(_ a: [Character], _ b: [Character]) -> Int {
        var row = Array(0...b.count)
        for (i, letter) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for j in b.indices {
                let replaced = diagonal + (letter == b[j] ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = Swift.min(replaced, row[j] + 1, diagonal + 1)
            }
        }
        return row[b.count]
    }
}

extension [String] {
    /// What an error asks of the names that are nearest to a wrong one; nothing if there are none.
    package var suggestion: String {
        isEmpty ? "" : "; did you mean \(map { "“\($0)”" }.joined(separator: " or "))?"
    }
}
