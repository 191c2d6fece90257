import FeaturePrints

/// Why a catalog cannot be opened, read or changed.
public struct CatalogError: Error, Equatable, CustomStringConvertible {
    public enum Reason: Equatable, Sendable {
        /// There is no catalog in the folder.
        case missing
        /// The folder cannot be made or written; the system's words.
        case unwritable(String)
        /// Another process is writing.
        case busy
        case otherModel(catalog: ModelIdentity, given: ModelIdentity)
        /// Made with a model that is neither the package's own nor stored with the catalog.
        case modelUnavailable(ModelIdentity)
        /// Written by a later version of the package.
        case laterVersion
        /// Written by an earlier version; indexing brings it up to date.
        case earlierVersion
        /// The store is damaged; the database's words.
        case damaged(String)
        /// A read or write of the store failed (a full disk, for one); the database's words.
        case failed(String)
        case unknownEntities([String])
    }

    /// The catalog's folder.
    public var folder: String
    public var reason: Reason

    public init(folder: String, reason: Reason) {
        self.folder = folder
        self.reason = reason
    }

    public var description: String {
        switch reason {
        case .missing:
            "\(folder): holds no catalog; make one with “lookalike index INPUT --catalog \(folder)”"
        case .unwritable(let words): "\(folder): cannot be written: \(words)"
        case .busy: "\(folder): another process is writing to this catalog; try again when it has finished"
        case .otherModel(let catalog, let given):
            "\(folder): its prints were made with model \(catalog), and cannot be used with \(given); "
                + "use that model, or index into another folder"
        case .modelUnavailable(let model):
            "\(folder): its prints were made with model \(model), which is not at hand; "
                + "name its file, or index anew into another folder"
        case .laterVersion: "\(folder): was written by a later version of Lookalike"
        case .earlierVersion:
            "\(folder): was written by an earlier version of Lookalike; “lookalike index INPUT --catalog \(folder)” brings it up to date"
        case .damaged(let words): "\(folder): is damaged: \(words)"
        case .failed(let words): "\(folder): \(words)"
        case .unknownEntities(let ids):
            "\(folder): has no entity \(ids.map { "“\($0)”" }.joined(separator: ", "))"
        }
    }
}
