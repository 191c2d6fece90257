import FeaturePrints
import GRDB
import LocalFeatures

extension CatalogIndexer {
    /// Makes the derived files that are of an earlier state.
    func refreshDerivedFiles() throws {
        let matrix = DerivedFileStore<MappedPrintMatrix>(database: database, source: model)
        try matrix.refresh()
        if let model = try Catalog.localFeatureModel(of: database) {
            try DerivedFileStore<MappedInvertedLists>(database: database, source: model).refresh()
        }
        // Nothing is made from earlier states any more.
        try folder.mappingErrors {
            try writer.write { db in
                if try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM revision") != 1 {
                    try CatalogRevision.current(db)?.forgetEarlier(db)
                }
            }
        }
        // So that a copy of the database file alone has everything, unless a reader still needs the log.
        try? writer.writeWithoutTransaction { _ = try $0.checkpoint(.passive) }
    }

    /// Decides when the derived files are made while a long run goes on, so that readers find what was indexed: after
    /// enough changes for the total work to stay proportional to the entities.
    struct ChangesSinceRefresh {
        private var atLastRefresh = 0
        private static let fewest = 4096

        mutating func areMany(_ report: IndexReport, in indexer: CatalogIndexer) throws -> Bool {
            let changes = report.added + report.updated
            guard changes - atLastRefresh >= Self.fewest else { return false }
            let count = try indexer.folder.mappingErrors {
                try indexer.database.reader.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM checksum") ?? 0 }
            }
            guard changes - atLastRefresh >= count / 4 else { return false }
            atLastRefresh = changes
            return true
        }
    }
}
