import CatalogEntities
import Compute
import FeaturePrints
import Imaging
import LocalFeatures

/// The two stages of a search by local features: candidates by prints and by visual words, then their verification.
struct CandidateSearch {
    let state: any CatalogState
    let model: FeaturePrintModel
    var prints: [FeaturePrint]
    /// The entities that are searched; nil for all.
    let selection: EntitySelection?
    let excluded: Set<Int64>
    /// The share of the nearest prints to find.
    let recall: Double
    let cancellation: Cancellation

    /// Candidates to verify that the prints propose.
    private static let printCandidates = 10
    /// Candidates to verify that the local features propose, for each detail they are extracted in.
    static let featureCandidates = 20
    /// Less evidence is no match, however close the print of the rectified crop.
    private static let leastEvidence = 6.0
    /// An entity with this many inliers counts as found when more work is decided on.
    static let surelyFound = 12
    /// The most likely candidates are verified first, and the others only if these leave something to be found.
    private static let firstCandidates = 12
    /// Entities of the first candidates that cover this share of the query leave little room for others.
    static let filled = 0.3
    /// The crop that an outline rectifies says little if less of it lies within the query.
    private static let leastVisible = 0.7
    /// How much of the difference between the query's threshold and a rectified crop's counts. With all of it one of 40
    /// covers of one style on a wall is lost; with none 18 of 240 receipts, forms, labels and pages are taken for
    /// others, with half of it 7 (`calibration_sets.py`, seeds 3 and 4).
    private static let excessShare: Float = 0.5
    /// Images with this many features show the same flat picture only if more than a few of them agree.
    private static let manyFeatures = 100
    private static let fewInliers = 10
    private static let smallShare = 0.1
    /// Prints are this near for the same flat picture, and for others of its layout; things with depth, whose features
    /// need not agree from another side, are further away.
    private static let samePicture: Float = 0.45
    /// The entities with the nearest prints whose dense descriptors are compared: 97 in 100 things with depth are among
    /// the 20 nearest of `validation-depth`, 79 the nearest.
    private static let denseCandidates = 20

    /// Siblings of a template that are not shown have at least 17 inliers where they are accepted without a comparison
    /// (`calibration_sets.py`); two views of a building, which are no siblings, have 8 to 11.
    private static let fewestOfSibling = 14
    /// The places of a query whose siblings are compared, and how many at each.
    private static let (mostPlaces, mostSiblings) = (3, 16)

    /// With a model's largest number of inliers and so large a share of them pixels say nothing more: what features of
    /// other codes of a template take for one have at most 0.37.
    private static let sureShare = 0.4
    private static let mostLikenesses = 32
    /// What is shown of a template has this likeness nearly always, others of it have less: all its inliers count.
    private static let leastOfWhole = 0.97
    /// Copies of a picture have a larger likeness, others of a template less.
    private static let leastOfCopy = 0.85

    /// Where so many of the compared entities have one picture, others are looked for among all prints: so many images.
    private static let (manyCopies, mostCopies) = (4, 256)
    /// The images with votes among which other pictures than those of many entities are looked for.
    private static let mostVotes = 320

    /// The images with the nearest prints: of enough entities, where these have several.
    func scanPrints(timings: StageTimings?) async throws -> PrintScan {
        let start = ContinuousClock.now
        defer { timings?.add(ContinuousClock.now - start, to: .search) }
        let needed = max(Self.printCandidates, model.catalogNeighborCount)
        var count = max(needed + excluded.count, PrintScan.leastCount)
        while true {
            let nearest = try await state.nearest(
                count, to: prints, in: selection, after: nil, recall: recall, cancellation: cancellation)
            let scan = PrintScan(
                revision: state.revision, selection: selection, nearest: nearest, count: count, recall: recall)
            if nearest.count < count || scan.nearest(without: excluded).count >= needed { return scan }
            count *= 4
        }
    }

    /// The images of the entities with the nearest prints, nearest first; of those with one picture, whose prints are
    /// the same, a few.
    func candidates(of scan: PrintScan) -> [Int64] {
        var counts: [Float: Int] = [:]
        return scan.nearest(without: excluded).filter {
            counts[$0.squaredDistance, default: 0] += 1
            return counts[$0.squaredDistance, default: 0] <= Self.manyCopies
        }.prefix(Self.printCandidates).map(\.key)
    }

    /// The images with most votes. Of those with one picture there are a few: what a photo shows beside a shoe in
    /// thirty sizes has fewer votes than each of them. ``withCopies(_:among:)`` finds the others.
    private func mostVoted(by query: LocalFeatureQuery) async throws -> [Int64] {
        var count = Self.featureCandidates
        while true {
            let voted = try await state.mostVoted(count, by: query, in: selection, without: excluded)
            let prints = try await state.prints(of: voted)
            var counts: [[Float]: Int] = [:]
            let few = voted.filter {
                guard let print = prints[$0] else { return true }
                counts[print, default: 0] += 1
                return counts[print, default: 0] <= Self.manyCopies
            }
            if few.count >= Self.featureCandidates || voted.count < count || count >= Self.mostVotes {
                return Array(few.prefix(Self.featureCandidates))
            }
            count *= 4
        }
    }

    /// The match threshold of the query; nil for a model without one.
    func threshold(beside scan: PrintScan) -> Double? {
        model.matchThreshold(for: prints, beside: scan.nearest(without: excluded).map(\.distance))
    }

    /// What codes and texts name.
    func named(by options: SearchOptions) async throws -> [VerifiedEntity] {
        VerifiedEntity.joined(
            try await entities(withCodes: options.codes, where: options.condition),
            named: try await entities(withTexts: options.texts, where: options.condition))
    }

    /// What prints and names say.
    func decision(beside scan: PrintScan, named: [VerifiedEntity], isComplete: Bool = true) -> CatalogQuery {
        CatalogQuery(
            prints: prints, matchThreshold: threshold(beside: scan), coefficients: model.confidence, verified: named,
            excluded: excluded, scan: scan, isComplete: isComplete)
    }

    /// Verified entities with their distances to the prints of this search.
    func measuredAnew(_ verified: [Int64: VerifiedEntity]) async throws -> [Int64: VerifiedEntity] {
        let distances = try await state.squaredDistances(of: verified.keys.sorted(), to: prints)
        return verified.mapValues { entity in
            var entity = entity
            entity.squaredDistance = distances[entity.key] ?? entity.squaredDistance
            return entity
        }
    }

    /// Compares the dense descriptors of a query with those of the entities with the nearest prints, and of the
    /// verified ones. Entities whose features disagree are left as they are, and likely siblings.
    ///
    /// - Parameters:
    ///   - views: the descriptors of the query, and of parts of it. Of entities without an outline the view with most
    ///     matches counts.
    ///   - known: the descriptors of images that were read before.
    func compareDensely(
        _ views: [DenseDescriptors], _ scan: PrintScan, _ verified: [Int64: VerifiedEntity],
        known: [Int64: [UInt64]]
    ) async throws -> [Int64: VerifiedEntity] {
        let nearest = scan.nearest(without: excluded).prefix(Self.denseCandidates).map(\.key)
        let keys = Set(nearest).union(verified.keys).filter { key in
            guard let entity = verified[key] else { return true }
            return entity.outline != nil
                && !Self.isSibling(inliers: entity.evidence.inliers, squaredDistance: entity.squaredDistance)
        }.sorted()
        let missing = try await state.localFeatures(of: keys.filter { known[$0] == nil })
        let images =
            keys.compactMap { key in known[key].map { (key: key, dense: $0) } }
            + missing.map { (key: $0.key, dense: $0.features.dense) }
        let matches = concurrentMap(images.count, threads: availableThreadCount) { index in
            // The center of a query says nothing of flat things that keypoints do not.
            let views = verified[images[index].key] == nil ? views[...] : views.prefix(1)
            return cancellation.isCancelled ? 0 : views.map { $0.matchCount(with: images[index].dense) }.max() ?? 0
        }
        try cancellation.check()
        let distances = try await state.squaredDistances(of: images.map(\.key), to: prints)
        var judged = verified
        for (image, count) in zip(images, matches) {
            guard let distance = distances[image.key] else { continue }
            let unverified = VerifiedEntity(
                key: image.key, revision: state.revision.number, inlierCount: 0, outline: nil, isMirrored: false,
                evidence: MatchEvidence(inliers: 0, share: 0, matches: 0, denseMatches: 0), squaredDistance: distance)
            judged[image.key, default: unverified].evidence.denseMatches = count
        }
        return judged
    }

    /// The entities that codes of the query name, by their nearest image.
    func entities(withCodes codes: [String], where condition: Condition) async throws -> [VerifiedEntity] {
        if codes.isEmpty { return [] }
        let named = try await state.selection(where: condition && .hasCode(codes), among: nil)
        let nearest = try await state.nearest(
            Self.mostNamed, to: prints, in: named, after: nil, recall: 1, cancellation: cancellation)
        return nearest.filter { !excluded.contains($0.entity) }.firstOfEachEntity(\.key).map { image in
            VerifiedEntity(
                key: image.key, revision: state.revision.number, inlierCount: 0, outline: nil, isMirrored: false,
                evidence: MatchEvidence(inliers: 0, share: 0, matches: 0, denseMatches: 0),
                squaredDistance: image.squaredDistance, isCompared: false, isNamedByCode: true)
        }
    }

    /// The entities that texts of the query name, by their nearest image.
    func entities(withTexts texts: [String], where condition: Condition) async throws -> [VerifiedEntity] {
        let texts = ReadTexts(texts)
        guard !texts.words.isEmpty else { return [] }
        let probabilities = try await state.entities(namedBy: texts) { try cancellation.check() }
        let rows = probabilities.keys.filter { !excluded.contains($0) }.sorted()
        if rows.isEmpty { return [] }
        let named = try await state.selection(where: condition, among: .only(rows))
        var images = rows.count
        while true {
            let nearest = try await state.nearest(
                images, to: prints, in: named, after: nil, recall: 1, cancellation: cancellation)
            let found = nearest.firstOfEachEntity(\.key)
            // Entities may have many images.
            guard nearest.count < images || found.count == rows.count else {
                images *= 4
                continue
            }
            return found.map { image in
                VerifiedEntity(
                    key: image.key, revision: state.revision.number, inlierCount: 0, outline: nil, isMirrored: false,
                    evidence: MatchEvidence(inliers: 0, share: 0, matches: 0, denseMatches: 0),
                    squaredDistance: image.squaredDistance, isCompared: false,
                    textProbability: probabilities[image.entity] ?? 0)
            }
        }
    }

    /// The sizes and colors of a product may have one number.
    private static let mostNamed = 100

    /// Votes, joins both kinds of candidates in turn, and verifies them.
    ///
    /// - Parameter isMirrored: whether the features are those of the mirrored image; few inliers are no evidence then,
    ///   and no votes are counted.
    func verify(
        _ query: LocalFeatureQuery, with printCandidates: [Int64], isMirrored: Bool = false, timings: StageTimings?
    ) async throws -> Verification {
        let start = ContinuousClock.now
        let voted = isMirrored ? [] : try await mostVoted(by: query)
        timings?.add(ContinuousClock.now - start, to: .search)
        try cancellation.check()
        var candidates: [Int64] = []
        var known: Set<Int64> = []
        for rank in 0..<max(voted.count, printCandidates.count) {
            for list in [voted, printCandidates] where rank < list.count && known.insert(list[rank]).inserted {
                candidates.append(list[rank])
            }
        }
        var compared = try await compare(candidates.prefix(Self.firstCandidates), with: query, timings: timings)
        if !isFilled(compared) {
            compared += try await compare(candidates.dropFirst(Self.firstCandidates), with: query, timings: timings)
        }
        return Verification(
            verified: try await judge(compared, by: query, isMirrored: isMirrored), candidates: candidates,
            dense: Dictionary(uniqueKeysWithValues: compared.map { ($0.key, $0.features.dense) }))
    }

    /// What the verification of candidates finds.
    struct Verification {
        let verified: [Int64: VerifiedEntity]
        let candidates: [Int64]
        /// The dense descriptors of the images that were compared.
        let dense: [Int64: [UInt64]]
    }

    /// The entities whose images agree with a query, or disagree although their prints are near.
    ///
    /// - Parameter isTile: whether the query is one of many tiles, see ``SharedInliers/init(_:model:isTile:)``.
    func judge(
        _ compared: [ComparedImage], by query: LocalFeatureQuery, isMirrored: Bool = false, isTile: Bool = false
    ) async throws -> [Int64: VerifiedEntity] {
        let distances = try await state.squaredDistances(of: compared.map(\.key), to: prints)
        let judged = compared.compactMap { image in
            if Self.disagrees(
                image.outline, of: image.features, with: query, squaredDistance: distances[image.key] ?? 4)
            {
                return ComparedImage(key: image.key, features: image.features, outline: nil)
            }
            return image.outline == nil ? nil : image
        }
        var verified: [Int64: VerifiedEntity] = [:]
        let claims = SharedInliers(judged, model: query.model, isTile: isTile)
        for image in judged {
            guard let distance = distances[image.key] else { continue }
            let outline = image.outline
            if isMirrored, outline?.inlierCount ?? 0 < Self.surelyFound { continue }
            verified[image.key] = VerifiedEntity(
                key: image.key, revision: state.revision.number, inlierCount: outline?.inlierCount ?? 0,
                outline: isMirrored ? outline?.outline.mirrored : outline?.outline, isMirrored: isMirrored,
                evidence: MatchEvidence(
                    inliers: claims.distinctiveInliers(of: image),
                    share: outline?.share ?? 0, matches: outline?.matchCount ?? 0, denseMatches: 0),
                squaredDistance: distance)
        }
        return verified
    }

    /// Whether the features of an image speak against it although its print is near.
    ///
    /// - Parameter outline: what the comparison found; nil if too few features agree.
    static func disagrees(
        _ outline: VerifiedOutline?, of image: LocalFeatures, with query: LocalFeatureQuery, squaredDistance: Float
    ) -> Bool {
        let isRich = min(image.count, query.features.count) >= manyFeatures
        let isNear = squaredDistance < samePicture * samePicture
        let agrees = outline.map { $0.inlierCount >= fewInliers || $0.share >= smallShare } ?? false
        return isRich && isNear && !agrees
    }

    /// Whether the query probably shows another one of a template, such as another label: its print is near, but few
    /// features agree that other candidates lack. Dense descriptors, which siblings share, would call it the same.
    static func isSibling(inliers: Double, squaredDistance: Float) -> Bool {
        inliers < Double(fewInliers) && squaredDistance < samePicture * samePicture
    }

    /// Whether the best of some outlines is certain and they cover so much that little else can be seen.
    private func isFilled(_ images: [ComparedImage]) -> Bool {
        let found = images.filter { $0.outline?.inlierCount ?? 0 >= Self.surelyFound }
            .sorted { ($1.outline?.inlierCount ?? 0, $0.key) < ($0.outline?.inlierCount ?? 0, $1.key) }
            .firstOfEachEntity(\.key).compactMap(\.outline)
        return found.contains { Double($0.inlierCount) >= model.confidence.mostInliers }
            && found.reduce(0) { $0 + $1.outline.area } >= Self.filled
    }

    /// Embeds what the outlines of the best verified entities rectify, and compares it with the entities' prints: a
    /// logo or a frame that many images share has inliers, but the print of the rectified crop tells the images apart.
    ///
    /// Score normalization holds for such a print, too: where the crop resembles more of the catalog than the query
    /// does, as a receipt that is cut out of its photo resembles all receipts, its distance counts as larger by half of
    /// the difference of the thresholds.
    ///
    /// - Parameter threshold: the match threshold of the query; nil for a model without one.
    func compareRectified(
        _ verified: [VerifiedEntity], in image: PixelBuffer, beside scan: PrintScan, threshold: Double?,
        mostCrops: Int, timings: StageTimings?
    ) async throws -> [VerifiedEntity] {
        var verified = verified
        let chosen = verified.indices
            .compactMap { index -> (index: Int, outline: Quadrilateral)? in
                guard let outline = verified[index].outline, model.canEmbed(outline),
                    verified[index].evidence.inliers >= Self.leastEvidence, outline.visibleShare >= Self.leastVisible
                else { return nil }
                return (index, outline)
            }
            .sorted {
                (verified[$1.index].evidence.inliers, $0.index) < (verified[$0.index].evidence.inliers, $1.index)
            }
            .firstOfEachEntity { verified[$0.index].key }
        guard mostCrops > 0, let best = chosen.first?.index else { return verified }
        // Nothing competes with it, and no distance makes it unlikely.
        if chosen.count == 1, verified[best].evidence.inliers >= model.confidence.mostInliers {
            return verified
        }
        // Entities with the same picture have the same outline, and one crop is enough for all of them.
        var crops: [Quadrilateral] = []
        let cropOfEach = chosen.map { _, outline -> Int? in
            if let known = crops.firstIndex(where: { $0.isClose(to: outline) }) { return known }
            guard crops.count < mostCrops else { return nil }
            crops.append(outline)
            return crops.count - 1
        }
        let prints = try model.embed(
            crops.map { ImageCrop(image, quadrilateral: $0) }, localizing: false, timings: timings,
            cancellation: cancellation
        ).map(\.print)
        let keys = Set(verified.map(\.key)).union(scan.nearest(without: excluded).map(\.key)).sorted()
        for (crop, print) in prints.enumerated() {
            let distances = try await state.squaredDistances(of: keys, to: [print])
            let neighbors = distances.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.firstOfEachEntity(\.key)
                .map { Double($0.value).squareRoot() }
            let excess = max((threshold ?? 0) - (model.matchThreshold(for: [print], beside: neighbors) ?? 0), 0)
            for ((index, _), own) in zip(chosen, cropOfEach) where own == crop {
                guard let distance = distances[verified[index].key] else { continue }
                let counted = distance.squareRoot() + Self.excessShare * Float(excess)
                verified[index].squaredDistance = min(verified[index].squaredDistance, counted * counted)
            }
        }
        return verified
    }

    /// Compares the pixels of entities that the query seems to show at one place, such as labels of one template: the
    /// query has to look like an entity where its thumbnail differs from those of others. What agrees there shares its
    /// inliers with none. Without thumbnails nothing changes.
    func compareSiblings(_ verified: [VerifiedEntity], in image: PixelBuffer) async throws -> [VerifiedEntity] {
        var verified = verified
        let ordered = verified.indices.filter {
            verified[$0].outline != nil && !verified[$0].isMirrored
                && verified[$0].inlierCount >= Self.fewestOfSibling
        }.sorted {
            (verified[$1].inlierCount, verified[$0].squaredDistance, $0)
                < (verified[$0].inlierCount, verified[$1].squaredDistance, $1)
        }
        // Each entity has the image with the most inliers first, which is not always the one that is shown.
        let first = ordered.firstOfEachEntity { verified[$0].key }
        var left = first + ordered.filter(Set(ordered).subtracting(first).contains)
        var places = 0
        while places < Self.mostPlaces, let place = left.first.flatMap({ verified[$0].outline }) {
            let group = left.filter { verified[$0].outline?.isAbout(place) == true }
            left = left.dropFirst().filter { !group.contains($0) }
            guard Set(group.map { verified[$0].entity }).count > 1 else { continue }
            places += 1
            let compared = group.prefix(Self.mostSiblings)
            let thumbnails = try await state.thumbnails(of: compared.map { verified[$0].key })
            let images = compared.compactMap { index in
                thumbnails[verified[index].key].flatMap { thumbnail in
                    verified[index].outline.map { (index: index, thumbnail: thumbnail, outline: $0) }
                }
            }
            let agreements = TemplateComparison.agreements(
                of: image, with: images.map { ($0.thumbnail, $0.outline, verified[$0.index].entity) })
            try cancellation.check()
            for (image, agreement) in zip(images, agreements) { verified[image.index].agree(agreement) }
            // If even the likeliest is not shown, nor are those that could not be compared.
            guard let best = agreements.compactMap(\.self).max(), best < MatchEvidence.leastAgreement else { continue }
            for index in group where verified[index].evidence.agreement == nil { verified[index].agree(best) }
        }
        return verified
    }

    /// Compares the pixels of entities with what their outlines enclose: features agree by chance, whole pictures do
    /// not. Of an entity whose template others share, such as a barcode, pixels decide. Without thumbnails nothing
    /// changes.
    ///
    /// - Parameter candidates: the images that were compared.
    func compareLikeness(
        _ verified: [VerifiedEntity], among candidates: [Int64], in image: PixelBuffer
    ) async throws -> [VerifiedEntity] {
        var verified = verified
        let doubtful = verified.indices.filter {
            let evidence = verified[$0].evidence
            return verified[$0].outline != nil && !verified[$0].isMirrored && evidence.inliers >= Self.leastEvidence
                && (evidence.inliers < model.confidence.mostInliers || evidence.share < Self.sureShare)
        }.sorted { (verified[$1].evidence.inliers, $0) < (verified[$0].evidence.inliers, $1) }
            .prefix(Self.mostLikenesses)
        let thumbnails = try await state.thumbnails(of: doubtful.map { verified[$0].key })
        for index in doubtful {
            try cancellation.check()
            guard let thumbnail = thumbnails[verified[index].key], let outline = verified[index].outline
            else { continue }
            verified[index].evidence.likeness = TemplateComparison.likeness(of: image, with: thumbnail, at: outline)
        }
        let compared = doubtful.filter {
            verified[$0].evidence.likeness != nil && verified[$0].evidence.agreement == nil
        }
        if compared.isEmpty { return verified }
        let inliers = Dictionary(verified.map { ($0.entity, $0.inlierCount) }, uniquingKeysWith: max)
        let prints = try await state.prints(of: compared.map { verified[$0].key } + candidates)
        for index in compared {
            let entity = verified[index]
            guard let own = prints[entity.key] else { continue }
            // Editions have about as many inliers.
            let most = max(Self.fewInliers, entity.inlierCount / 2)
            let hasSibling = candidates.contains { key in
                ImageRow.entity(key) != entity.entity && inliers[ImageRow.entity(key), default: 0] < most
                    && prints[key].map { Self.haveSamePicture(own, $0) } ?? false
            }
            guard hasSibling, let likeness = entity.evidence.likeness else { continue }
            verified[index].evidence.agreement = likeness
            if likeness >= Self.leastOfWhole { verified[index].evidence.inliers = Double(entity.inlierCount) }
        }
        return verified
    }

    /// Whether two prints may be those of one flat picture.
    private static func haveSamePicture(_ one: [Float], _ other: [Float]) -> Bool {
        zip(one, other).reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) } < samePicture * samePicture
    }

    /// Verified entities, and those that have the same pictures but were not compared: a shop may have one picture for
    /// dozens of sizes, and there are only so many candidates. They are where the compared one is, as surely.
    ///
    /// Pictures are the same whose prints are equal: those of tickets that differ in a digit may be as near as those of
    /// one picture that was compressed twice.
    ///
    /// - Parameter candidates: images of which some were not compared.
    func withCopies(_ verified: [VerifiedEntity], among candidates: [Int64]) async throws -> [VerifiedEntity] {
        if verified.isEmpty { return verified }
        let compared = Set(verified.map(\.key))
        var others = candidates.filter { !compared.contains($0) }
        var prints = try await state.prints(of: compared.sorted() + others)
        // The pictures, each with its surest image and the entities that have it.
        var pictures: [[Float]: (first: VerifiedEntity, entities: Set<Int64>)] = [:]
        for entity in verified.sorted(by: { ($1.evidence.inliers, $0.key) < ($0.evidence.inliers, $1.key) }) {
            guard let print = prints[entity.key] else { continue }
            pictures[print, default: (entity, [])].entities.insert(entity.entity)
        }
        let shared = pictures.filter { $0.value.entities.count >= Self.manyCopies }.keys
        if !shared.isEmpty {
            let nearest = try await state.nearest(
                Self.mostCopies, to: shared.map { FeaturePrint(vector: $0, model: model.identity) }, in: selection,
                after: nil, recall: recall, cancellation: cancellation)
            let keys = nearest.map(\.key).filter { prints[$0] == nil }
            prints.merge(try await state.prints(of: keys)) { own, _ in own }
            others += keys
        }
        var copies: [VerifiedEntity] = []
        for key in others where !excluded.contains(ImageRow.entity(key)) {
            guard let print = prints[key], let first = pictures[print]?.first,
                pictures[print]?.entities.insert(ImageRow.entity(key)).inserted == true
            else { continue }
            copies.append(
                VerifiedEntity(
                    key: key, revision: state.revision.number, inlierCount: first.inlierCount, outline: first.outline,
                    isMirrored: first.isMirrored, evidence: first.evidence, squaredDistance: first.squaredDistance))
        }
        return verified + copies
    }

    /// Verified entities with the leads of their evidence over that of others.
    ///
    /// Copies and editions, whose prints are near each other, are no rivals. Nor is what is surely shown at another
    /// place, as on a wall of covers. Of entities without an outline others of their template are rivals, whose prints
    /// are as near, but whose pixels differ.
    ///
    /// - Parameter threshold: the match threshold of the query; nil for a model without one.
    func withLeads(_ verified: [VerifiedEntity], threshold: Double?) async throws -> [VerifiedEntity] {
        if verified.isEmpty { return verified }
        let prints = try await state.prints(of: verified.map(\.key))
        // Nil for images of one entity, and without a print.
        func areNear(_ one: VerifiedEntity, _ other: VerifiedEntity) -> Bool? {
            guard one.entity != other.entity, let own = prints[one.key], let theirs = prints[other.key] else {
                return nil
            }
            return Self.haveSamePicture(own, theirs)
        }
        func areRivals(_ one: VerifiedEntity, _ other: VerifiedEntity) -> Bool {
            if other.inlierCount >= Self.surelyFound, let place = one.outline, let otherPlace = other.outline,
                !place.hasPlace(of: otherPlace)
            {
                return false
            }
            return areNear(one, other) == false
        }
        // The strongest first: its distance from an entity mostly decides.
        let byInliers = verified.sorted { $0.evidence.inliers > $1.evidence.inliers }
        let byDenseMatches = verified.sorted {
            ($1.evidence.denseMatches, $0.key) < ($0.evidence.denseMatches, $1.key)
        }
        var leading = verified.map { entity in
            var entity = entity
            entity.evidence.lead(
                overInliers: byInliers.first { areRivals(entity, $0) }?.evidence.inliers ?? 0,
                denseMatches: byDenseMatches.first { areRivals(entity, $0) }?.evidence.denseMatches ?? 0)
            return entity
        }
        guard let threshold else { return leading }
        for index in leading.indices {
            let entity = leading[index]
            guard entity.evidence.denseLead > 0, entity.evidence.inliers < Self.leastEvidence,
                model.confidence.logOdds(entity.evidence, distance: entity.distance, threshold: threshold) > 0
            else { continue }
            let near = byDenseMatches.lazy.filter { areNear(entity, $0) == true }.prefix(Self.mostPlaces)
            for other in near where try await !areCopies(entity, other) {
                leading[index].evidence.lead(overDenseMatches: other.evidence.denseMatches)
                break
            }
        }
        return leading
    }

    /// Whether the thumbnails of two entities look the same; those without any do.
    private func areCopies(_ one: VerifiedEntity, _ other: VerifiedEntity) async throws -> Bool {
        let thumbnails = try await state.thumbnails(of: [one.key, other.key])
        guard let own = thumbnails[one.key], let theirs = thumbnails[other.key] else { return true }
        return TemplateComparison.likeness(of: own, with: theirs, at: .unit) ?? 1 >= Self.leastOfCopy
    }

    func compare(
        _ candidates: ArraySlice<Int64>, with query: LocalFeatureQuery, timings: StageTimings?
    ) async throws -> [ComparedImage] {
        let images = try await state.localFeatures(of: Array(candidates))
        let outlines = measured(timings, .verify, count: images.count) {
            concurrentMap(images.count, threads: availableThreadCount) {
                cancellation.isCancelled ? nil : query.verify(images[$0].features)
            }
        }
        try cancellation.check()
        return zip(images, outlines).map { ComparedImage(key: $0.key, features: $0.features, outline: $1) }
    }
}
