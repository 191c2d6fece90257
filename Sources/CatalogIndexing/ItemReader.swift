import CatalogEntities
import CatalogStore
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
    /// Whether files are read again that have the stamps that were stored.
    let readsUnchangedFiles: Bool
    /// Nil where no local features are wanted.
    let extractor: LocalFeatureExtractor?

    /// Why an item cannot be read at all; nil if its images can be tried.
    func problem(of item: IndexItem) -> String? {
        if item.entity.id.isEmpty { return "has no id" }
        if item.namedEntity.hasNUL { return "contains a NUL character" }
        if item.images.isEmpty { return "has no image" }
        return problem(ofCount: item.images.count)
    }

    func problem(ofCount count: Int) -> String? {
        count > ImageRow.mostPlaces ? "has \(count) images; an entity may have \(ImageRow.mostPlaces)" : nil
    }

    /// Decodes the next image of an item, unless it is stored already, and extracts all but its print.
    func readNext(_ read: inout ReadItem, timings: StageTimings?) {
        let (place, item) = (read.images.count, read.item)
        let path = read.paths[place]
        switch item.images[place] {
        case .file: readFile(path, into: &read, timings: timings)
        case .data(let data):
            readMemory(path, hash: SHA256.hash(data), into: &read) { name throws(ImageError) in
                let options = decodingOptions
                let image = try measured(timings, .decode) { () throws(ImageError) in
                    try PixelBuffer(decoding: data, named: name, options: options)
                }
                return try newImage(image, named: name, timings: timings)
            }
        case .pixels(let image):
            readMemory(path, hash: ContentHash.of(image), into: &read) { name throws(ImageError) in
                try newImage(image.overContrastingGround(), named: name, timings: timings)
            }
        case .print(let print):
            do {
                try model.check(print)
            } catch {
                return read.fail(path, "\(error)")
            }
            // Without an image there is nothing to complete.
            readMemory(path, hash: ContentHash.of(print), into: &read, needsFeatures: false) { _ throws(ImageError) in
                .new(StoredImage(print: HalfPrecision.data(print.vector), thumbnail: nil, features: nil))
            }
        case .computed(let image):
            let features = extractor == nil ? nil : image.localFeatures
            do {
                try model.check(image.print)
            } catch {
                return read.fail(path, "\(error)")
            }
            if let problem = image.problem(wordCount: extractor?.model.wordCount) { return read.fail(path, problem) }
            let hash = ContentHash.of(image)
            readMemory(path, hash: hash, into: &read, needsFeatures: features != nil) { _ throws(ImageError) in
                let thumbnail = thumbnailSide.flatMap { side in
                    image.thumbnail.map { StoredThumbnail(side: side, data: $0) }
                }
                return .new(
                    StoredImage(print: HalfPrecision.data(image.print.vector), thumbnail: thumbnail, features: features)
                )
            }
        }
    }

    /// What is stored of an image.
    func newImage(
        _ image: PixelBuffer, named name: String, timings: StageTimings?
    ) throws(ImageError) -> ReadImage.Contents {
        let thumbnail = try thumbnail(of: image, named: name, timings: timings)
        let start = ContinuousClock.now
        let features = extractor.map { $0.features(of: image) }
        if features != nil { timings?.add(ContinuousClock.now - start, to: .features) }
        return .pixels(image, thumbnail: thumbnail, features: features?.encoded)
    }

    /// - Parameter makeImage: called with the image's name, if what is in memory is not what was indexed before.
    private func readMemory(
        _ path: String, hash: Data, into read: inout ReadItem, needsFeatures: Bool = true,
        makeImage: (_ name: String) throws(ImageError) -> ReadImage.Contents
    ) {
        if let place = read.place(path, having: hash, withFeatures: needsFeatures && extractor != nil) {
            return read.add(ReadImage(path: path, file: .inMemory, contentHash: hash, contents: .kept(place: place)))
        }
        let item = read.item
        let name =
            item.images.count == 1 ? item.origin : path.isEmpty ? "image \(read.images.count + 1)" : path
        do throws(ImageError) {
            let contents = try makeImage(name)
            read.add(ReadImage(path: path, file: .inMemory, contentHash: hash, contents: contents))
        } catch {
            read.fail(path, error.subject == item.origin ? error.reason.description : error.description)
        }
    }

    private func readFile(_ path: String, into read: inout ReadItem, timings: StageTimings?) {
        let stamp = ImageStamp(path: path)
        if !readsUnchangedFiles, let stamp, let place = read.place(path, at: stamp, withFeatures: extractor != nil) {
            return read.keep(place)
        }
        do throws(ImageError) {
            let options = decodingOptions
            let start = ContinuousClock.now
            let data = try contents(ofImageFile: path, limit: options.maximumByteCount)
            let hash = SHA256.hash(data)
            let unknown = ImageStamp(file: FileStamp(size: Int64(data.count), modified: 0), changed: 0, inode: 0)
            let file = stamp ?? unknown
            if let place = read.place(path, having: hash, withFeatures: extractor != nil) {
                return read.add(ReadImage(path: path, file: file, contentHash: hash, contents: .kept(place: place)))
            }
            if let other = read.otherImageOfID {
                return read.fail(
                    path, "has the same id “\(read.item.entity.id)” as \(other); index a folder that has both")
            }
            let image = try PixelBuffer(decoding: data, named: path, options: options)
            timings?.add(ContinuousClock.now - start, to: .decode)
            let contents = try newImage(image, named: path, timings: timings)
            read.add(ReadImage(path: path, file: file, contentHash: hash, contents: contents))
        } catch {
            // The origin names the path already, unless it is a line of a manifest.
            read.fail(path, read.item.origin == path ? error.reason.description : error.description)
        }
    }

    /// Decodes no more of a large JPEG file than the print, the thumbnail and the local features need.
    var decodingOptions: DecodingOptions {
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
        -> StoredThumbnail?
    {
        guard let thumbnailSide else { return nil }
        let data = try measured(timings, .thumbnail) { () throws(ImageError) in
            try Thumbnail.jpeg(of: image, longSide: thumbnailSide, named: path)
        }
        return StoredThumbnail(side: thumbnailSide, data: data)
    }
}

/// An image that was read, or is stored already.
struct ReadImage: Sendable {
    enum Contents: Sendable {
        /// As it is stored at a place of the entity.
        case kept(place: Int)
        /// All that is stored of it except the print.
        case pixels(PixelBuffer, thumbnail: StoredThumbnail?, features: Data?)
        case new(StoredImage)
        case failed
    }

    let path: String
    var file: ImageStamp
    var contentHash: Data
    var contents: Contents

    var pixels: PixelBuffer? { if case .pixels(let pixels, _, _) = contents { pixels } else { nil } }
}

/// An item with those of its images that were read.
struct ReadItem: Sendable {
    let item: IndexItem
    /// The entity as it is stored; nil for a new one.
    let known: KnownEntity?
    /// A path per image.
    let paths: [String]
    private(set) var images: [ReadImage] = []
    private(set) var reasons: [String] = []
    /// The places of stored images that are kept.
    private var kept: Set<Int> = []

    init(_ item: IndexItem, known: KnownEntity?) {
        self.item = item
        // A damaged record is stored again.
        self.known = known.flatMap { $0.images.count == $0.record.images.count ? $0 : nil }
        paths = item.namedEntity.images
    }

    /// The place of a stored image with these contents that is not kept yet, at this path if possible.
    func place(_ path: String, having hash: Data, withFeatures: Bool) -> Int? {
        let places = places(withFeatures: withFeatures) { $1.contentHash == hash }
        return places.first { isStored(path, at: $0) } ?? places.first
    }

    /// The place of the stored image of an unchanged file.
    func place(_ path: String, at file: ImageStamp, withFeatures: Bool) -> Int? {
        places(withFeatures: withFeatures) { isStored(path, at: $0) && $1.file == file }.first
    }

    /// The image of another folder that has the id of an image of a folder, and is still there.
    var otherImageOfID: String? {
        guard item.sameIDs != nil, let stored = known?.firstImage(unlessAt: paths[0]),
            FolderScan.folder(of: stored) != FolderScan.folder(of: paths[0]), ImageStamp(path: stored) != nil
        else { return nil }
        return stored
    }

    private func places(withFeatures: Bool, where isWanted: (Int, KnownImage) -> Bool) -> [Int] {
        (known?.images ?? []).enumerated().compactMap { place, image in
            !kept.contains(place) && (image.hasLocalFeatures || !withFeatures) && isWanted(place, image) ? place : nil
        }
    }

    private func isStored(_ path: String, at place: Int) -> Bool {
        known.map { $0.record.images[place].utf8.elementsEqual(path.utf8) } ?? false
    }

    mutating func add(_ image: ReadImage) {
        if case .kept(let place) = image.contents { kept.insert(place) }
        images.append(image)
    }

    /// Adds a stored image as it is.
    mutating func keep(_ place: Int) {
        guard let known else { return }
        let image = known.images[place]
        add(
            ReadImage(
                path: known.record.images[place], file: image.file, contentHash: image.contentHash,
                contents: .kept(place: place)))
    }

    /// Adds an image that cannot be used. What is stored under its path stays.
    mutating func fail(_ path: String, _ reason: String) {
        reasons.append(reason)
        if let place = placeAfterFailure(path, images.count) {
            keep(place)
        } else {
            images.append(ReadImage(path: path, file: .inMemory, contentHash: Data(), contents: .failed))
        }
    }

    /// The stored image that stays where the one of a path cannot be used.
    private func placeAfterFailure(_ path: String, _ place: Int) -> Int? {
        let places = places(withFeatures: false) { stored, _ in isStored(path, at: stored) }
        return places.contains(place) ? place : places.first
    }

    /// Completes images with their prints, in order.
    mutating func embed(_ prints: inout ArraySlice<Result<FeaturePrint, ModelError>>) {
        for index in images.indices {
            guard case .pixels(_, let thumbnail, let features) = images[index].contents,
                let print = prints.popFirst()
            else { continue }
            do {
                images[index].contents = .new(
                    StoredImage(
                        print: HalfPrecision.data(try print.get().vector), thumbnail: thumbnail, features: features))
            } catch {
                let path = images[index].path
                reasons.append(item.images.count == 1 || path.isEmpty ? "\(error)" : "\(path): \(error)")
                images[index].contents = .failed
                if let place = placeAfterFailure(path, index), let known {
                    let stored = known.images[place]
                    (images[index].file, images[index].contentHash) = (stored.file, stored.contentHash)
                    images[index].contents = .kept(place: place)
                    kept.insert(place)
                }
            }
        }
    }

    var problems: [IndexProblem] { reasons.map { IndexProblem(subject: item.origin, reason: $0) } }

    /// What is to be stored; nil if no image can be used, or not all that are needed.
    ///
    /// - Parameter needsAll: whether one unusable image is too many.
    func prepared(needingAll needsAll: Bool) -> PreparedEntity? {
        guard needsAll ? reasons.isEmpty : reasons.count < images.count else { return nil }
        var record = EntityRecord(item.entity)
        var prepared: [PreparedImage] = []
        record.images = []
        for image in images {
            var (keptPlace, new) = (Int?.none, StoredImage?.none)
            switch image.contents {
            case .kept(let place): keptPlace = place
            case .new(let stored): new = stored
            case .pixels, .failed: continue
            }
            record.images.append(image.path)
            prepared.append(
                PreparedImage(file: image.file, contentHash: image.contentHash, keptPlace: keptPlace, new: new))
        }
        if item.sameIDs != nil, let known, known.images.count > 1 { keepOtherImages(of: known, &record, &prepared) }
        if item.addsImages, let known { addImages(to: known, &record, &prepared) }
        return PreparedEntity(record: record, images: prepared)
    }

    /// Puts the image of a folder in its place among the stored images of its entity: that of its path, else the first.
    private func keepOtherImages(of known: KnownEntity, _ record: inout EntityRecord, _ images: inout [PreparedImage]) {
        let paths = known.record.images
        let place = paths.firstIndex { ExactText($0) == ExactText(record.images[0]) } ?? 0
        let new = (path: record.images[0], image: images[0])
        record.images = paths
        images = Self.kept(known)
        (record.images[place], images[place]) = new
    }

    /// Puts images behind those of their entity, but for those that it has already.
    private func addImages(to known: KnownEntity, _ record: inout EntityRecord, _ images: inout [PreparedImage]) {
        let added = zip(record.images, images).filter { $1.keptPlace == nil }
        record.images = known.record.images
        images = Self.kept(known)
        for (path, image) in added {
            // One without local features gets them.
            if let place = images.firstIndex(where: { $0.contentHash == image.contentHash }) {
                images[place] = image
            } else {
                record.images.append(path)
                images.append(image)
            }
        }
    }

    /// All images of an entity as they are stored.
    private static func kept(_ known: KnownEntity) -> [PreparedImage] {
        known.images.enumerated().map { place, image in
            PreparedImage(file: image.file, contentHash: image.contentHash, keptPlace: place, new: nil)
        }
    }

    /// Whether an entity to be stored is as it is stored already, but for the stamps of its files.
    func isStored(_ entity: PreparedEntity) -> Bool {
        guard let known, entity.keepsAllImages(count: known.images.count) else { return false }
        return known.record.entity.isStored(as: entity.record.entity)
    }

    /// Whether the stamps of an entity's files are those that are stored.
    func hasStamps(of entity: PreparedEntity) -> Bool {
        zip(known?.images ?? [], entity.images).allSatisfy { $0.file == $1.file }
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

    static func of(_ image: ComputedImage) -> Data {
        var hash = SHA256()
        hash.update(Data("computed\n".utf8))
        for part in [HalfPrecision.data(image.print.vector), image.localFeatures ?? Data(), image.thumbnail ?? Data()] {
            hash.update(Data("\(part.count)\n".utf8))
            hash.update(part)
        }
        return hash.finalize()
    }

    static func of(_ print: FeaturePrint) -> Data {
        var hash = SHA256()
        hash.update(Data("print\n".utf8))
        hash.update(HalfPrecision.data(print.vector))
        return hash.finalize()
    }
}
