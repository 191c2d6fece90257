import Foundation

/// Items that were read and embedded and are yet to be stored, together.
struct PreparedChunk: Sendable {
    var images: [PreparedImage] = []
    /// Entities whose print stays, with their new metadata or file stamp.
    var metadataChanges: [EntityRecord] = []
    var unchanged = 0
    var problems: [IndexProblem] = []
    var notes: [IndexNote] = []

    var isEmpty: Bool { images.isEmpty && metadataChanges.isEmpty && unchanged == 0 && problems.isEmpty }

    /// Of the entities that are yet to be stored.
    var ids: Set<ExactText> {
        Set((images.map(\.record.id) + metadataChanges.map(\.id)).map { ExactText($0) })
    }

    mutating func append(_ other: PreparedChunk) {
        images += other.images
        metadataChanges += other.metadataChanges
        unchanged += other.unchanged
        problems += other.problems
        notes += other.notes
    }
}

/// All that is stored of an image.
struct PreparedImage: Sendable {
    let record: EntityRecord
    /// As `PrintBlob` stores it.
    let print: Data
    /// A JPEG file.
    let thumbnail: Data?
    /// As `LocalFeatures.encoded` has them.
    let features: Data?
}
