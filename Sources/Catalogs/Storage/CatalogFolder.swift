import Foundation

/// The files of a catalog.
struct CatalogFolder: Sendable {
    let url: URL

    var path: String { url.path }
    /// The source of truth.
    var database: URL { url.appendingPathComponent("catalog.sqlite") }
    /// Derived from the database: the prints as a matrix.
    var matrix: URL { url.appendingPathComponent("prints.matrix") }
    /// Derived from the database: the inverted lists of the local features.
    var invertedLists: URL { url.appendingPathComponent("features.lists") }
    /// A copy of the model, unless it is the default model.
    var model: URL { url.appendingPathComponent("model.safetensors") }
    /// Locked by the one writer.
    var lock: URL { url.appendingPathComponent("writer.lock") }

    var isWritable: Bool { access(path, W_OK) == 0 }

    func error(_ reason: CatalogError.Reason) -> CatalogError { CatalogError(folder: path, reason: reason) }
}
