package import Foundation

/// An entity that is yet to be stored, with its images in order.
package struct PreparedEntity: Sendable {
    package let record: EntityRecord
    package let images: [PreparedImage]
    /// Whether nothing changed but the stamps of its files.
    package var hasOnlyNewStamps = false

    package init(record: EntityRecord, images: [PreparedImage]) { (self.record, self.images) = (record, images) }

    /// Whether all images are among those that are stored, at their places.
    package func keepsAllImages(count: Int) -> Bool {
        images.count == count && images.enumerated().allSatisfy { $0 == $1.keptPlace }
    }

    /// Whether the images that are kept are still stored.
    ///
    /// - Parameter hashes: those of the stored images.
    func keepsImages(of hashes: [Data]) -> Bool {
        for image in images {
            guard let place = image.keptPlace else { continue }
            guard place < hashes.count, hashes[place] == image.contentHash else { return false }
        }
        return true
    }
}

/// An image that is yet to be stored, or stays.
package struct PreparedImage: Sendable {
    package let file: ImageStamp
    package let contentHash: Data
    /// The place of the entity at which it is stored; nil for a new one.
    package let keptPlace: Int?
    /// Nil for one that is stored.
    package let new: StoredImage?

    package init(file: ImageStamp, contentHash: Data, keptPlace: Int?, new: StoredImage?) {
        (self.file, self.contentHash, self.keptPlace, self.new) = (file, contentHash, keptPlace, new)
    }
}

/// All that is stored of an image.
package struct StoredImage: Sendable {
    /// As `HalfPrecision` stores it.
    package let print: Data
    package let thumbnail: StoredThumbnail?
    /// As `LocalFeatures.encoded` has them.
    package let features: Data?

    package init(print: Data, thumbnail: StoredThumbnail?, features: Data?) {
        (self.print, self.thumbnail, self.features) = (print, thumbnail, features)
    }

    package var byteCount: Int { print.count + (thumbnail?.data.count ?? 0) + (features?.count ?? 0) }
}

/// A JPEG file, and the long side that it was made for.
package struct StoredThumbnail: Sendable {
    package let side: Int
    package let data: Data

    package init(side: Int, data: Data) { (self.side, self.data) = (side, data) }
}
