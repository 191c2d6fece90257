import CatalogEntities
import LocalFeatures

/// A candidate's image after the comparison with a query.
struct ComparedImage {
    let key: Int64
    let features: LocalFeatures
    /// Nil if too few features agree.
    let outline: VerifiedOutline?
}

/// Which of the query's keypoints several entities have among their inliers.
///
/// A logo, a frame or a form that many images of a catalog share is found in all of them: each gets its share of such a
/// keypoint, and what only one image explains counts in full. Entities with the same picture count as one, since they
/// are no rivals: a shop has one picture for all sizes of a shoe. So do the images of an entity.
struct SharedInliers {
    /// The number of different pictures with a keypoint among their inliers.
    private var claims: [Int: Int] = [:]

    /// A picture is the same if most of its features are: copies of other sizes and qualities share 0.56 to 1 of them,
    /// receipts, forms and cards of one template 0.1 to 0.51 (`calibration_sets.py`).
    private static let leastShared = 0.55
    /// Fewer features in common say nothing.
    private static let leastSupport = 8
    /// Only pictures that claim much the same keypoints are compared, and each with few others.
    private static let leastOverlap = 0.5
    private static let mostComparisons = 3

    /// - Parameter isTile: whether images also claim the keypoints that are too close to others to be inliers. In a
    ///   tile of a wall many covers share a frame, and what is found there is compared with far more of them.
    init(_ images: [ComparedImage], model: LocalFeatureModel, isTile: Bool) {
        // The inliers of the picture's first image, all that images of it claim, and their entities.
        var pictures:
            [(
                image: ComparedImage, inliers: Set<Int>, claimed: Set<Int>, entities: Set<Int64>,
                query: LocalFeatureQuery?
            )] = []
        let found = images.filter { $0.outline != nil }
            .sorted { ($1.outline?.inlierCount ?? 0, $0.key) < ($0.outline?.inlierCount ?? 0, $1.key) }
        for image in found {
            let inliers = Set(image.outline?.inliers ?? [])
            let claimed = isTile ? Set(image.outline?.explained ?? []) : inliers
            let entity = ImageRow.entity(image.key)
            if let own = pictures.firstIndex(where: { $0.entities.contains(entity) }) {
                pictures[own].claimed.formUnion(claimed)
                continue
            }
            let similar = pictures.indices
                .map { (index: $0, overlap: pictures[$0].inliers.intersection(inliers).count) }
                .filter { Double($0.overlap) >= Self.leastOverlap * Double(inliers.count) }
                .sorted { ($1.overlap, $0.index) < ($0.overlap, $1.index) }
                .prefix(Self.mostComparisons)
            let same = similar.first { candidate in
                let query =
                    pictures[candidate.index].query
                    ?? LocalFeatureQuery(pictures[candidate.index].image.features, model: model)
                pictures[candidate.index].query = query
                guard let shared = query.verify(image.features) else { return false }
                return shared.supportCount >= Self.leastSupport
                    && Double(shared.supportCount) >= Self.leastShared * Double(shared.visibleCount)
            }
            if let same {
                pictures[same.index].claimed.formUnion(claimed)
                pictures[same.index].entities.insert(entity)
            } else {
                pictures.append((image, inliers, claimed, [entity], nil))
            }
        }
        for keypoint in pictures.lazy.flatMap(\.claimed) { claims[keypoint, default: 0] += 1 }
    }

    /// The inliers of an image, those of other pictures too counted in part.
    func distinctiveInliers(of image: ComparedImage) -> Double {
        (image.outline?.inliers ?? []).reduce(0) { $0 + 1 / Double(claims[$1, default: 1]) }
    }
}
