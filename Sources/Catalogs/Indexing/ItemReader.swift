import Digests
import FeaturePrints
import Foundation
import Imaging
import Inference
import LocalFeatures

/// Reads items: decodes their images, and extracts all that a catalog stores of them except the print.
struct ItemReader: Sendable {
    let model: FeaturePrintModel
    /// The long side of thumbnails in pixels; nil for none.
    let thumbnailSide: Int?
    /// What is decoded at most.
    let limits: DecodingOptions
    /// Nil where no local features are wanted.
    let extractor: LocalFeatureExtractor?

    /// A decoded image with all that is stored of it except its print.
    struct NewImage: Sendable {
        /// What its print is made of, or its print.
        enum Source {
            case pixels(PixelBuffer)
            case print(FeaturePrint)

            var pixels: PixelBuffer? { if case .pixels(let pixels) = self { pixels } else { nil } }
            var print: FeaturePrint? { if case .print(let print) = self { print } else { nil } }
        }

        let record: EntityRecord
        let source: Source
        let thumbnail: Data?
        let features: LocalFeatures?
    }

    /// An entity as stored.
    struct Known {
        let record: EntityRecord
        /// Whether everything that this indexer extracts is there.
        let isComplete: Bool
    }

    /// The state of an item before it is embedded.
    enum Reading: Sendable {
        case unchanged
        /// The print stays; the entity's metadata or its file stamp changes.
        case metadataChanged(EntityRecord)
        case image(NewImage)
        case failed(String)
    }

    /// Decodes an item's image, unless it is stored already, and extracts all but its print.
    func read(_ item: IndexItem, known: Known?, timings: StageTimings?) -> Reading {
        if item.entity.id.isEmpty { return .failed("has no id") }
        if item.entity.hasNUL { return .failed("contains a NUL character") }
        switch item.image {
        case .file: return readFile(item, known: known, timings: timings)
        case .data(let data):
            return readMemory(item, hash: SHA256.hash(data), known: known) { () throws(ImageError) in
                let options = decodingOptions
                let image = try measured(timings, .decode) { () throws(ImageError) in
                    try PixelBuffer(decoding: data, named: item.origin, options: options)
                }
                return try newImage(image, named: item.origin, timings: timings)
            }
        case .pixels(let image):
            return readMemory(item, hash: ContentHash.of(image), known: known) { () throws(ImageError) in
                try newImage(image, named: item.origin, timings: timings)
            }
        case .print(let print):
            do {
                try model.check(print)
            } catch {
                return .failed("\(error)")
            }
            // Without an image there is nothing to complete.
            let known = known.map { Known(record: $0.record, isComplete: true) }
            return readMemory(item, hash: ContentHash.of(print), known: known) { () throws(ImageError) in
                (.print(print), nil, nil)
            }
        }
    }

    private typealias ImageParts = (source: NewImage.Source, thumbnail: Data?, features: LocalFeatures?)

    /// What is stored of an image.
    private func newImage(
        _ image: PixelBuffer, named name: String, timings: StageTimings?
    ) throws(ImageError) -> ImageParts {
        let thumbnail = try thumbnail(of: image, named: name, timings: timings)
        let start = ContinuousClock.now
        let features = extractor.map { $0.features(of: image) }
        if features != nil { timings?.add(ContinuousClock.now - start, to: .features) }
        return (.pixels(image), thumbnail, features)
    }

    /// - Parameter makeImage: called if what is in memory is not what was indexed before.
    private func readMemory(
        _ item: IndexItem, hash: Data, known entity: Known?, makeImage: () throws(ImageError) -> ImageParts
    ) -> Reading {
        var record = EntityRecord(item.entity, file: .inMemory, contentHash: hash)
        record.row = entity?.record.row
        if let entity, entity.isComplete, entity.record.contentHash == hash {
            let isSame = entity.record.entity.isStored(as: item.entity) && entity.record.file == .inMemory
            return isSame ? .unchanged : .metadataChanged(record)
        }
        do throws(ImageError) {
            let (source, thumbnail, features) = try makeImage()
            return .image(NewImage(record: record, source: source, thumbnail: thumbnail, features: features))
        } catch {
            return .failed(error.subject == item.origin ? error.reason.description : error.description)
        }
    }

    private func readFile(_ item: IndexItem, known entity: Known?, timings: StageTimings?) -> Reading {
        let path = item.entity.image
        let stamp = FileStamp(path: path)
        let (known, isComplete) = (entity?.record, entity?.isComplete ?? false)
        if let known, let stamp, isComplete, known.file == stamp, known.image.utf8.elementsEqual(path.utf8) {
            if known.entity.isStored(as: item.entity) { return .unchanged }
            var record = EntityRecord(item.entity, file: stamp, contentHash: known.contentHash)
            record.row = known.row
            return .metadataChanged(record)
        }
        do throws(ImageError) {
            let options = decodingOptions
            let start = ContinuousClock.now
            let data = try contents(ofImageFile: path, limit: options.maximumByteCount)
            let hash = SHA256.hash(data)
            var record = EntityRecord(
                item.entity, file: stamp ?? FileStamp(size: Int64(data.count), modified: 0), contentHash: hash)
            record.row = known?.row
            if isComplete, known?.contentHash == hash { return .metadataChanged(record) }
            let image = try PixelBuffer(decoding: data, named: path, options: options)
            timings?.add(ContinuousClock.now - start, to: .decode)
            let (source, thumbnail, features) = try newImage(image, named: path, timings: timings)
            return .image(NewImage(record: record, source: source, thumbnail: thumbnail, features: features))
        } catch {
            // The origin names the path already, unless it is a line of a manifest.
            return .failed(item.origin == path ? error.reason.description : error.description)
        }
    }

    /// Decodes no more of a large JPEG file than the print, the thumbnail and the local features need.
    private var decodingOptions: DecodingOptions {
        var options = limits
        options.neededSize = model.decodingOptions.neededSize
        options.neededLongSide = thumbnailSide
        if extractor != nil, let needed = options.neededSize {
            // Features are detected in larger images than this; 1.5 times as many pixels are decoded anyway.
            let side = LocalFeatureExtractor.Detail.catalog.longSide * 2 / 3
            options.neededSize = (max(needed.width, side), max(needed.height, side))
        }
        return options
    }

    private func thumbnail(of image: PixelBuffer, named path: String, timings: StageTimings?) throws(ImageError)
        -> Data?
    {
        guard let thumbnailSide else { return nil }
        return try measured(timings, .thumbnail) { () throws(ImageError) in
            try Thumbnail.jpeg(of: image, longSide: thumbnailSide, named: path)
        }
    }
}

/// SHA-256 of what an item has in memory: whether it is what was indexed before.
enum ContentHash {
    /// O(pixels). Bytes between the rows do not count.
    static func of(_ image: PixelBuffer) -> Data {
        var hash = SHA256()
        hash.update(Data("\(image.width) \(image.height) \(image.format.rawValue) \(image.alpha.rawValue)\n".utf8))
        // Nothing for sRGB, which hashes of earlier versions do not name.
        if image.colorSpace != .sRGB { hash.update(Data("\(image.colorSpace.rawValue)\n".utf8)) }
        let rowBytes = image.width * image.format.bytesPerPixel
        image.withUnsafeBytes { bytes in
            for row in 0..<image.height {
                let start = row * image.bytesPerRow
                hash.update(UnsafeRawBufferPointer(rebasing: bytes[start..<(start + rowBytes)]))
            }
        }
        return hash.finalize()
    }

    static func of(_ print: FeaturePrint) -> Data {
        var hash = SHA256()
        hash.update(Data("print\n".utf8))
        hash.update(PrintBlob.data(print.vector))
        return hash.finalize()
    }
}
