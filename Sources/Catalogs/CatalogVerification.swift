import Foundation
import GRDB
import LocalFeatures

extension Catalog {
    /// Reads everything that the catalog stores, and returns a description of each problem; an empty array for an
    /// intact catalog. O(catalog).
    ///
    /// A damaged matrix file is rebuilt from the database, and reported too.
    public func verify() throws -> [String] {
        var problems = try folder.mappingErrors { try databaseProblems() }
        if let file = MappedPrintMatrix(folder.matrix) {
            if !file.isIntact {
                problems.append(
                    "\(folder.matrix.lastPathComponent): its contents do not match its digest; it was rebuilt")
                try PrintMatrixWriter(database: database).write()
            }
        } else {
            problems.append("\(folder.matrix.lastPathComponent): is missing or damaged; it was rebuilt")
            try PrintMatrixWriter(database: database).write()
        }
        problems += try invertedListProblems()
        return problems
    }

    private func invertedListProblems() throws -> [String] {
        guard let extractor else { return [] }
        let name = folder.invertedLists.lastPathComponent
        let problem: String
        if let file = MappedInvertedLists(folder.invertedLists) {
            if file.isIntact { return [] }
            problem = "\(name): its contents do not match its digest; it was rebuilt"
        } else {
            problem = "\(name): is missing or damaged; it was rebuilt"
        }
        try InvertedListsWriter(database: database, model: extractor.model).write()
        return [problem]
    }

    private func databaseProblems() throws -> [String] {
        try database.reader.read { db in
            var problems = try String.fetchAll(db, sql: "PRAGMA integrity_check").filter { $0 != "ok" }
            problems += try String.fetchAll(db, sql: "SELECT id FROM entity WHERE row NOT IN (SELECT row FROM print)")
                .map { "entity “\($0)” has no print" }
            let prints = try Row.fetchCursor(
                db, sql: "SELECT entity.id, print.vector FROM print LEFT JOIN entity USING (row) ORDER BY print.row")
            while let print = try prints.next() {
                let id: String? = print[0]
                let name = id.map { "entity “\($0)”" } ?? "a print without an entity"
                guard id != nil else {
                    problems.append(name)
                    continue
                }
                guard let vector = PrintBlob.vector(print[1], dimension: model.dimension) else {
                    problems.append("\(name): its print is not \(model.dimension) finite floats")
                    continue
                }
                let norm = vector.reduce(0) { $0 + Double($1) * Double($1) }.squareRoot()
                if abs(norm - 1) > 1e-3 { problems.append("\(name): its print has the norm \(norm), not 1") }
            }
            let features = try Row.fetchCursor(
                db, sql: "SELECT entity.id, localFeatures.data FROM localFeatures JOIN entity USING (row) ORDER BY row")
            while let row = try features.next() {
                let (id, data): (String, Data) = (row[0], row[1])
                if LocalFeatures(encoded: data) == nil {
                    problems.append("entity “\(id)”: its local features cannot be read")
                }
            }
            return problems
        }
    }
}
