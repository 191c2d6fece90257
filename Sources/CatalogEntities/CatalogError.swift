public import Compute
public import FeaturePrints

/// Why a catalog cannot be opened, read or changed.
public struct CatalogError: DescribedError, Equatable {
    /// What is wrong with the catalog.
    public enum Reason: Equatable, Sendable {
        /// There is no catalog in the folder.
        case missing
        /// The folder cannot be created or written; the system's message.
        case unwritable(String)
        /// The URL is that of no folder of this system, such as one with https.
        case notAFolder
        /// Another process is writing.
        case busy
        /// The prints were made with another model than the given one.
        case otherModel(catalog: ModelIdentity, given: ModelIdentity)
        /// Made with a model that is neither the default model nor stored with the catalog.
        case modelUnavailable(ModelIdentity)
        /// Its local features were made with another model than the default one.
        case otherLocalFeatures
        /// A new catalog needs a model: there is no default model without the package's trait `DefaultModel`.
        case noModel
        /// A new catalog would use the default model, but its folder has a model file that another catalog left, whose
        /// database is gone.
        case strayModel
        /// Made by another version of the package, or by another program.
        case otherVersion
        /// The database is damaged; its message.
        case damaged(String)
        /// A read or write failed (on a full disk, for example); the database's message.
        case failed(String)
        /// The change is stored, but the files that searches by picture read could not be made of it, as on a full
        /// disk; the system's message. They are made by the next change, or when the catalog is opened.
        case unsearchable(String)
        /// The catalog has no entities with these ids.
        case unknownEntities([String])
        /// Pruning would remove every entity, because no image of the catalog exists, as when a disk is not mounted.
        case allImagesMissing(count: Int)
        /// No entity has an attribute of this name; the nearest names of fields that there are.
        case unknownAttribute(String, nearest: [String] = [])
        /// No entity has this type; the nearest types that there are.
        case unknownType(String, nearest: [String] = [])
        /// A condition compares numbers or dates, and all values of this attribute are texts; one of them.
        case incomparable(String, value: String)
    }

    /// The catalog's folder, or the name of one that is kept elsewhere.
    public var subject: String
    /// What is wrong.
    public var reason: Reason

    /// An error about the catalog in a folder.
    public init(subject: String, reason: Reason) {
        self.subject = subject
        self.reason = reason
    }

    /// Whether writing failed, and reading may still be possible.
    package var isUnwritable: Bool {
        switch reason {
        case .unwritable, .failed: true
        default: false
        }
    }

    public var description: String { "\(subject): \(words)" }

    /// The reason in words.
    package var words: String {
        switch reason {
        case .missing: "holds no catalog; index images into it first"
        case .unwritable(let words): "cannot be written: \(words)"
        case .notAFolder: "is not the URL of a folder; give the path of one"
        case .busy:
            "another indexer is writing to this catalog, in this process or another; try again when it has finished"
        case .otherModel(let catalog, let given):
            "its prints were made with model \(catalog), not with \(given); "
                + "use that model, or index into another folder"
        case .modelUnavailable(let model):
            "its prints were made with model \(model), which was not found; "
                + "pass its file, or index again into another folder"
        case .otherLocalFeatures:
            "its local features were made by another version of Lookalike; index into another folder"
        case .noModel: "a new catalog needs a model; none was given, and the default model is not linked"
        case .strayModel: "holds model.safetensors, but no database; pass that file as the model, or remove it"
        case .otherVersion:
            "its database was made by another version of Lookalike or another program; "
                + "index again, into another folder"
        case .damaged(let words): "is damaged: \(words)"
        case .failed(let words): words
        case .unsearchable(let words):
            "the change is stored, but the files that searches read could not be written: \(words)"
        case .unknownEntities(let ids): "has no entity \(ids.map { "“\($0)”" }.joined(separator: ", "))"
        case .allImagesMissing(let count):
            "none of the images of \(count) entities exists; nothing was removed. Is their disk mounted?"
        case .unknownAttribute(let name, let nearest):
            "none of its entities has an attribute “\(name)”" + nearest.suggestion
        case .unknownType(let name, let nearest):
            "none of its entities has the type “\(name)”" + nearest.suggestion
        case .incomparable("id", let value):
            "“id” is a text, such as “\(value)”, and is compared with a number or a date; compare an attribute"
        case .incomparable(let name, let value):
            "“\(name)” is a text in all of its entities, such as “\(value)”, and is compared with a number or a date; "
                + "these are written 19.90 and 2026-11-28"
        }
    }
}
