/// Some entities of a catalog, by their rows in the database.
package enum KeySelection: Sendable {
    /// These entities; ascending.
    case only([Int64])
    /// All entities but these; ascending.
    case allBut([Int64])
}

extension KeySelection {
    /// The rows of the matrix that are selected and among the allowed ones. O(rows + keys).
    func rows(of matrix: MappedPrintMatrix, among allowed: [Range<Int>]) -> [Range<Int>] {
        switch self {
        case .only(let keys): Self.intersection(allowed, matrix.rows(withKeys: keys))
        case .allBut(let keys): Self.subtraction(allowed, matrix.rows(withKeys: keys))
        }
    }

    /// What ascending disjoint ranges have in common.
    private static func intersection(_ a: [Range<Int>], _ b: [Range<Int>]) -> [Range<Int>] {
        var common: [Range<Int>] = []
        var (i, j) = (0, 0)
        while i < a.count, j < b.count {
            let range = a[i].clamped(to: b[j])
            if !range.isEmpty { common.append(range) }
            if a[i].upperBound < b[j].upperBound { i += 1 } else { j += 1 }
        }
        return common
    }

    /// What ascending disjoint ranges have without others.
    private static func subtraction(_ a: [Range<Int>], _ b: [Range<Int>]) -> [Range<Int>] {
        var rest: [Range<Int>] = []
        var j = 0
        for range in a {
            var start = range.lowerBound
            while j < b.count, b[j].lowerBound < range.upperBound {
                if b[j].lowerBound > start { rest.append(start..<b[j].lowerBound) }
                start = max(start, b[j].upperBound)
                // One that goes on may cut the next range, too.
                if b[j].upperBound > range.upperBound { break }
                j += 1
            }
            if start < range.upperBound { rest.append(start..<range.upperBound) }
        }
        return rest
    }
}
