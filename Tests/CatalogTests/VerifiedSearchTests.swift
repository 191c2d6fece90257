import Catalogs
import FeaturePrints
import Foundation
import Imaging
import Synchronization
import TestSupport
import Testing
import VectorSearch

/// Searches whose matches local features verify.
struct VerifiedSearchTests {
    @Test func aTurnedImageInClutterIsFoundWithItsOutline() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        #expect(catalog.hasLocalFeatures)
        for (index, degrees) in [(1, 35.0), (4, 180), (5, 275)] {
            let (image, placement) = CoverFixture.photograph(of: index, degrees: degrees)
            let matches = try await catalog.search(matching: image)
            let first = try #require(matches.first)
            #expect(first.entity.id == "c\(index)" && matches.count == 1)
            #expect(first.confidence >= 0.5 && first.confidence <= 1 && first.inlierCount >= 12)
            let outline = try #require(first.outline)
            let corners = placement.corners(width: image.width, height: image.height)
            for (corner, expected) in zip(outline.corners, corners) {
                #expect(hypot(corner.x - expected.x, corner.y - expected.y) < 0.02, "c\(index)")
            }
        }
    }

    @Test func everyEntityOfAnImageIsFound() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let (image, placements) = CoverFixture.photograph([
            (0, 0.7, 20, SIMD2(170, 150)), (3, 0.7, 340, SIMD2(470, 150)), (2, 0.6, 100, SIMD2(320, 370)),
        ])
        let matches = try await catalog.search(matching: image)
        #expect(Set(matches.map(\.entity.id)) == ["c0", "c3", "c2"])
        #expect(matches.map(\.confidence) == matches.map(\.confidence).sorted(by: >))
        for (id, placement) in zip(["c0", "c3", "c2"], placements) {
            let outline = try #require(matches.first { $0.entity.id == id }?.outline)
            for (corner, expected) in zip(outline.corners, placement.corners(width: 640, height: 480)) {
                #expect(hypot(corner.x - expected.x, corner.y - expected.y) < 0.03, "\(id)")
            }
        }
    }

    @Test func whatTheCatalogDoesNotHaveIsNotAccepted() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let (image, _) = CoverFixture.photograph(of: 30)
        #expect(try await catalog.search(matching: image).isEmpty)
        let all = try await catalog.search(matching: image, options: SearchOptions(bounds: .none))
        #expect(all.count == 6 && all.allSatisfy { $0.confidence < 0.5 })
    }

    /// Siblings have the same dense descriptors, and some of their features agree by chance.
    @Test(arguments: 0..<8 as Range<UInt64>) func anotherLabelOfATemplateIsNotAccepted(template: UInt64) async throws {
        let folder = try TemporaryFolder()
        let search = try Self.catalog(in: folder) { Self.label(template, $0) }
        for index in 0..<3 as Range<UInt64> {
            #expect(try await search.search(matching: Self.label(template, index)).first?.id == "\(index)")
        }
        for index in 12..<24 as Range<UInt64> {
            let found = try await search.search(matching: Self.label(template, index))
            #expect(found.isEmpty, "\(index) is taken for \(found.map(\.id))")
        }
    }

    /// A catalog of twelve images of a template.
    private static func catalog(in folder: TemporaryFolder, of image: (UInt64) -> PixelBuffer) throws -> Catalog {
        for index in 0..<12 as Range<UInt64> {
            try folder.write(image(index).pngData(), to: "images/\(index).png")
        }
        let catalog = folder.file("catalog")
        _ = try CatalogIndexer(at: catalog).index(ImageSource.items(at: folder.file("images")).items)
        return try Catalog(at: catalog)
    }

    /// A header that the template sets, and bars and digits that the label sets.
    private static func label(_ template: UInt64, _ index: UInt64) -> PixelBuffer {
        let (width, height) = (420, 300)
        var pixels = [UInt8](repeating: 245, count: width * height * 3)
        func fill(_ x: Int, _ y: Int, _ wide: Int, _ high: Int, _ color: [UInt8] = [0, 0, 0]) {
            for row in y..<(y + high) {
                for column in x..<(x + wide) { for c in 0..<3 { pixels[(row * width + column) * 3 + c] = color[c] } }
            }
        }
        var printed = SeededGenerator(seed: template), filled = SeededGenerator(seed: 1_000 * (template + 1) + index)
        for _ in 0..<26 {
            fill(
                .random(in: 10..<390, using: &printed), .random(in: 8..<44, using: &printed),
                .random(in: 4..<16, using: &printed), .random(in: 4..<14, using: &printed),
                printed.bytes(3).map { $0 / 2 })
        }
        var x = 30
        while x < 385 {
            let wide = [3, 3, 6, 9].randomElement(using: &filled) ?? 2
            fill(x, 64, wide, 166)
            x += wide + ([3, 6, 9].randomElement(using: &filled) ?? 2)
        }
        for digit in 0..<13 {
            for _ in 0..<4 {
                fill(
                    50 + digit * 24 + .random(in: 0..<12, using: &filled), 248 + .random(in: 0..<24, using: &filled),
                    .random(in: 3..<9, using: &filled), .random(in: 3..<9, using: &filled))
            }
        }
        guard let image = try? PixelBuffer(pixels, width: width, height: height, format: .rgb8) else {
            preconditionFailure("the pixels fit their shape")
        }
        return image
    }

    /// Nearly all features of tickets agree, whoever they are for.
    @Test(arguments: 0..<4 as Range<UInt64>) func anotherTicketOfATemplateIsNotAccepted(template: UInt64) async throws {
        let folder = try TemporaryFolder()
        let search = try Self.catalog(in: folder) { Self.ticket(template, $0) }
        for index in 0..<18 as Range<UInt64> {
            let ticket = Self.ticket(template, index)
            let photograph = SampleImage.blocks(seed: index, width: 640, height: 480).drawing(
                ticket, at: Placement(of: ticket, scale: 1.1, degrees: 8, center: SIMD2(320, 240)))
            let found = try await search.search(matching: photograph)
            #expect(found.map(\.id) == (index < 12 ? ["\(index)"] : []), "\(index)")
        }
    }

    /// A third of the features of matrix codes agree, whichever is shown: corners of modules are alike.
    @Test(arguments: [21, 25, 33, 41]) func anotherMatrixCodeIsNotAccepted(modules: Int) async throws {
        let folder = try TemporaryFolder()
        let search = try Self.catalog(in: folder) { Self.matrixCode(modules, $0) }
        let remote = try await RemoteCatalogSearch(KeptRecords(of: search))
        for index in 0..<18 as Range<UInt64> {
            let code = Self.matrixCode(modules, index)
            let photograph = SampleImage.blocks(seed: index, width: 640, height: 480).drawing(
                code, at: Placement(of: code, scale: 380 / Double(code.width), degrees: 7, center: SIMD2(320, 240)))
            let found = try await search.search(matching: photograph)
            #expect(found.map(\.id) == (index < 12 ? ["\(index)"] : []), "\(index)")
            if index >= 10 { #expect(try await remote.search(matching: photograph) == found, "\(index)") }
        }
    }

    /// Three corners that all codes have, and modules that are drawn anew.
    private static func matrixCode(_ modules: Int, _ index: UInt64) -> PixelBuffer {
        var random = SeededGenerator(seed: 1_000 * UInt64(modules) + index)
        let (cell, margin) = (10, 4)
        let side = (modules + 2 * margin) * cell
        var pixels = [UInt8](repeating: 255, count: side * side * 3)
        for row in 0..<modules {
            for column in 0..<modules {
                var isDark = Bool.random(using: &random)
                for (x, y) in [(0, 0), (modules - 7, 0), (0, modules - 7)] {
                    let ring = max(abs(column - x - 3), abs(row - y - 3))
                    if ring <= 4 { isDark = ring != 2 && ring != 4 }
                }
                guard isDark else { continue }
                for pixel in 0..<cell * cell {
                    let (x, y) = ((margin + column) * cell + pixel % cell, (margin + row) * cell + pixel / cell)
                    for channel in 0..<3 { pixels[(y * side + x) * 3 + channel] = 10 }
                }
            }
        }
        guard let image = try? PixelBuffer(pixels, width: side, height: side, format: .rgb8) else {
            preconditionFailure("the pixels fit their shape")
        }
        return image
    }

    /// The image of an entity with the most inliers need not be the one that is shown.
    @Test(arguments: 0..<4 as Range<UInt64>) func theTicketOfAnEntityWithSeveralIsFound(template: UInt64) async throws {
        let folder = try TemporaryFolder()
        let catalog = folder.file("catalog")
        let indexer = try CatalogIndexer(at: catalog)
        for entity in 0..<4 as Range<UInt64> {
            let images = (0..<3 as Range<UInt64>).map { IndexImage.pixels(Self.ticket(template, 3 * entity + $0)) }
            try await indexer.upsert(IndexItem(CatalogEntity(id: "\(entity)"), images: images))
        }
        let search = try Catalog(at: catalog)
        for index in 0..<16 as Range<UInt64> {
            let ticket = Self.ticket(template, index)
            let photograph = SampleImage.blocks(seed: index, width: 640, height: 480).drawing(
                ticket,
                at: Placement(of: ticket, scale: 1, degrees: 90 * Double(index % 4) + 8, center: SIMD2(320, 240)))
            let found = try await search.search(matching: photograph)
            #expect(found.map(\.id) == (index < 12 ? ["\(index / 3)"] : []), "\(index)")
            if let first = found.first { #expect(first.imageIndex == Int(index % 3)) }
        }
    }

    /// A picture, and below it words that the ticket sets.
    private static func ticket(_ template: UInt64, _ index: UInt64) -> PixelBuffer {
        let picture = SampleImage.shapes(seed: template, width: 420, height: 300)
        var filled = SeededGenerator(seed: 1_000 * (template + 1) + index)
        let (columns, rows, cell) = (18, 5, 8)
        var words = [UInt8](repeating: 240, count: 320 * 56 * 3)
        for place in 0..<columns * rows where Bool.random(using: &filled) {
            let (left, top) = (12 + place % columns * 16, 8 + place / columns * cell)
            for pixel in 0..<cell * 12 {
                let first = ((top + pixel / 12) * 320 + left + pixel % 12) * 3
                for channel in 0..<3 { words[first + channel] = 30 }
            }
        }
        guard let label = try? PixelBuffer(words, width: 320, height: 56, format: .rgb8) else {
            preconditionFailure("the pixels fit their shape")
        }
        return picture.drawing(label, at: Placement(of: label, center: SIMD2(210, 240)))
    }

    @Test func aRankingFollowsMetadataThatChangedSinceTheQuery() async throws {
        let fixture = try CoverFixture()
        let indexer = try CatalogIndexer(at: fixture.catalog)
        for index in 0..<4 { try await indexer.update(CatalogEntity(id: "c\(index)", type: "album", title: "")) }
        let catalog = try Catalog(at: fixture.catalog)
        let filter = Condition.isAnyOf(.type, ["album"])
        let query = try await catalog.query(
            for: CoverFixture.photograph(of: 2).image, options: SearchOptions(condition: filter))
        let before = try await catalog.search(query, options: SearchOptions(bounds: .none, condition: filter))
        #expect(Set(before.map(\.id)) == ["c0", "c1", "c2", "c3"])
        try await indexer.update(CatalogEntity(id: "c1", type: "poster", title: ""))
        let after = try await catalog.search(query, options: SearchOptions(bounds: .none, condition: filter))
        #expect(Set(after.map(\.id)) == ["c0", "c2", "c3"])
    }

    @Test func boundsAndLimitsKeepTheOrder() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let (image, _) = CoverFixture.photograph(of: 2)
        let query = try await catalog.query(for: image)
        let all = try await catalog.search(query, options: SearchOptions(bounds: .none))
        #expect(all.count == 6 && all[0].entity.id == "c2")
        #expect(all.map(\.confidence) == all.map(\.confidence).sorted(by: >))
        for limit in 0...6 {
            #expect(
                try await catalog.search(query, options: SearchOptions(limit: limit, bounds: .none))
                    == Array(all.prefix(limit)))
        }
        let least = all[2].confidence
        #expect(
            try await catalog.search(query, options: SearchOptions(bounds: MatchBounds(minConfidence: least)))
                == all.filter { $0.confidence >= least })
        let middle = all.map(\.distance).sorted()[3]
        #expect(
            try await catalog.search(query, options: SearchOptions(bounds: MatchBounds(maxDistance: .atMost(middle))))
                == all.filter { $0.distance <= middle })
        #expect(
            try await catalog.search(
                query, options: SearchOptions(bounds: MatchBounds(minConfidence: 0.5, maxDistance: 0))
            ).isEmpty)
    }

    @Test func theEffortOfPrintsComparesNoFeatures() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let matches = try await catalog.search(
            matching: CoverFixture.cover(3), options: SearchOptions(bounds: .none, effort: .prints))
        #expect(matches.count == 6 && matches.allSatisfy { $0.outline == nil && $0.inlierCount == 0 })
        #expect(matches[0].entity.id == "c3" && matches[0].distance < 1e-3)
        #expect(matches.map(\.distance) == matches.map(\.distance).sorted())
    }

    /// Three forward passes are spared where the whole image is surely something.
    @Test func theEffortOfPrintsEmbedsCropsInDoubt() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let sure = try await catalog.query(for: CoverFixture.cover(3), options: SearchOptions(effort: .prints))
        #expect(sure.prints.count == 1 && sure.isComplete)
        let (image, _) = CoverFixture.photograph(of: 2)
        let doubtful = try await catalog.query(for: image, options: SearchOptions(effort: .prints))
        #expect(try doubtful.prints == QueryEmbedder(catalog.model).embed(image).prints && doubtful.prints.count > 1)
    }

    /// Squares of 4×4 pixels for each of a small image: its overview is that image.
    @Test func largeImagesAreSearchedByTheirOverview() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let (small, _) = CoverFixture.photograph([(2, 1.1, 20, SIMD2(400, 300))], width: 800, height: 600)
        let channels = small.format.bytesPerPixel
        let bytes = small.withUnsafeBytes { bytes in
            (0..<2_400).flatMap { y in
                (0..<3_200).flatMap { x in
                    (0..<channels).map { bytes[y / 4 * small.bytesPerRow + x / 4 * channels + $0] }
                }
            }
        }
        let large = try PixelBuffer(bytes, width: 3_200, height: 2_400, format: small.format)
        let (first, second) = (try await catalog.query(for: small), try await catalog.query(for: large))
        #expect(first.prints == second.prints)
        let (expected, found) = (try await catalog.search(first), try await catalog.search(second))
        #expect(expected.map(\.id) == ["c2"] && found.map(\.id) == ["c2"])
        #expect(expected.map(\.inlierCount) == found.map(\.inlierCount))
    }

    @Test func filtersPassOverVerifiedEntities() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let (image, _) = CoverFixture.photograph([
            (1, 0.8, 15, SIMD2(180, 240)), (4, 0.8, 300, SIMD2(460, 240)),
        ])
        func ids(_ condition: Condition, bounds: MatchBounds = .accepted) async throws -> [String] {
            try await catalog.search(matching: image, options: SearchOptions(bounds: bounds, condition: condition)).map(
                \.entity.id)
        }
        #expect(try await Set(ids(Condition.everything)) == ["c1", "c4"])
        #expect(try await ids(Condition.isAnyOf(.type, ["even"])) == ["c4"])
        #expect(try await ids(Condition.isAnyOf(.type, ["odd"])) == ["c1"])
        #expect(try await ids(Condition.isAnyOf(.label, ["l2"])).isEmpty)
        #expect(try await Set(ids(Condition.isAnyOf(.label, ["l2"]), bounds: .none)) == ["c2", "c5"])
        // A filter of the pages alone, after the query was verified without one.
        let query = try await catalog.query(for: image)
        let odd = try await catalog.search(
            query, options: SearchOptions(bounds: .none, condition: Condition.isAnyOf(.type, ["odd"])))
        #expect(odd.first?.entity.id == "c1" && odd.count == 3 && odd.allSatisfy { $0.entity.type == "odd" })
    }
}

struct VerifiedPagingTests {
    @Test func pagesHaveEachEntityOnceInTheOrderOfOneLongPage() async throws {
        let fixture = try CoverFixture(count: 11)
        let catalog = try Catalog(at: fixture.catalog)
        let (image, _) = CoverFixture.photograph([
            (1, 0.75, 15, SIMD2(170, 150)), (8, 0.75, 200, SIMD2(470, 150)), (6, 0.5, 90, SIMD2(320, 390)),
        ])
        let query = try await catalog.query(for: image)
        let all = try await catalog.search(query, options: SearchOptions(limit: 100, bounds: .none))
        #expect(all.count == 11 && Set(all.map(\.entity.id)).count == 11)
        #expect(all.contains { $0.outline != nil } && all.contains { $0.outline == nil })
        for size in [1, 2, 3, 10, 11] {
            var paged: [CatalogMatch] = []
            while paged.count < 20 {
                let cursor = try paged.last.map { match in
                    // As text, as an app passes it on.
                    try #require(SearchCursor(SearchCursor(after: match).description))
                }
                let page = try await catalog.search(
                    query, options: SearchOptions(limit: size, bounds: .none, after: cursor))
                if page.isEmpty { break }
                #expect(page.count <= size)
                paged += page
            }
            #expect(paged == all, "pages of \(size)")
        }
    }

    /// A query that was kept answered with the outline of the image that the entity had before.
    @Test func aVerifiedEntityWithAnotherImageIsRankedByItsPrint() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let query = try await catalog.query(for: CoverFixture.photograph(of: 1).image).withoutScan
        #expect(try await catalog.search(query).first?.id == "c1")
        try fixture.write(CoverFixture.cover(20), as: 1)
        try fixture.index()
        #expect(try await catalog.search(query).isEmpty)
        let first = try #require(
            try await catalog.search(query, options: SearchOptions(bounds: .none)).first { $0.id == "c1" })
        #expect(first.outline == nil && first.inlierCount == 0)
        // A change of another entity leaves it verified.
        let other = try await catalog.query(for: CoverFixture.photograph(of: 2).image).withoutScan
        try fixture.write(CoverFixture.cover(21), as: 1)
        try fixture.index()
        #expect(try await catalog.search(other).first?.outline != nil)
    }

    @Test func aVerifiedEntityThatWasRemovedIsOnNoPage() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let (image, _) = CoverFixture.photograph(of: 2)
        let query = try await catalog.query(for: image)
        #expect(try await catalog.search(query).first?.entity.id == "c2")
        try CatalogIndexer(at: fixture.catalog).removeAll(["c2"])
        let rest = try await catalog.search(query, options: SearchOptions(bounds: .none))
        #expect(rest.count == 5 && !rest.contains { $0.entity.id == "c2" })
    }
}

struct CatalogEvaluationTests {
    @Test func aTargetThatIsLeftOutIsNeitherMatchNorCandidate() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let (image, _) = CoverFixture.photograph(of: 3)
        let query = try await catalog.evaluate(image, targets: ["c3"], leaveOut: true)
        #expect(query.matches.map(\.entity.id) == query.outcome.ranking.map(\.id))
        #expect(query.outcome.targets == ["c3"] && query.outcome.ranking.count == 6)
        #expect(query.outcome.ranking[0].id == "c3" && query.outcome.acceptedCount == 1)
        #expect(query.outcome.candidates.first == "c3")
        let without = try #require(query.withoutTargets)
        #expect(without.targets.isEmpty && without.acceptedCount == 0)
        #expect(Set(without.ranking.map(\.id)) == ["c0", "c1", "c2", "c4", "c5"])
        #expect(!without.candidates.contains("c3") && !without.candidates.isEmpty)
        // As a search of the catalog that never had it.
        try CatalogIndexer(at: fixture.catalog).removeAll(["c3"])
        let removed = try await catalog.evaluate(image, targets: [])
        #expect(removed.outcome.ranking.map(\.id) == without.ranking.map(\.id))
        for (a, b) in zip(removed.outcome.ranking, without.ranking) { #expect(abs(a.confidence - b.confidence) < 0.02) }
    }

    @Test func leavingOutIsDoneOnlyWhereItIsWantedAndThereIsATarget() async throws {
        let fixture = try CoverFixture(count: 3)
        let catalog = try Catalog(at: fixture.catalog)
        let image = CoverFixture.cover(1)
        #expect(try await catalog.evaluate(image, targets: ["c1"]).withoutTargets == nil)
        #expect(try await catalog.evaluate(image, targets: [], leaveOut: true).withoutTargets == nil)
        let several = try await catalog.evaluate(
            image, targets: ["c1", "c2", "unknown"], leaveOut: true, options: SearchOptions(limit: 2))
        #expect(several.outcome.ranking.count == 2 && several.outcome.ranking[0].id == "c1")
        #expect(several.withoutTargets?.ranking.map(\.id) == ["c0"])
    }
}

struct TimeBudgetTests {
    /// Each look at the clock takes a second.
    final class CountingClock: Clock {
        typealias Instant = ContinuousClock.Instant

        private let looks = Mutex(0)
        private let start = ContinuousClock.now

        var now: Instant {
            looks.withLock { looks in
                looks += 1
                return start + .seconds(looks)
            }
        }
        var minimumResolution: Duration { .seconds(1) }

        func sleep(until deadline: Instant, tolerance: Duration?) async throws {}
    }

    @Test func aSearchAnswersWithWhatItHasFound() async throws {
        let fixture = try CoverFixture()
        let catalog = try Catalog(at: fixture.catalog)
        let photograph = CoverFixture.photograph(of: 2).image
        let whole = try await catalog.query(for: photograph)
        #expect(whole.isComplete && whole.isVerified)
        var counts: [Int] = []
        for seconds in 0..<20 {
            let budget = TimeBudget(.seconds(seconds), clock: CountingClock())
            let query = try await catalog.query(for: photograph, options: SearchOptions(budget: budget))
            #expect(query.prints == whole.prints)
            let matches = try await catalog.search(query, options: SearchOptions(limit: 3, bounds: .none))
            #expect(matches.count == 3)
            guard query.isComplete else {
                #expect(counts.count == seconds)
                counts.append(matches.filter { $0.outline != nil }.count)
                continue
            }
            #expect(try await catalog.search(query).map(\.id) == catalog.search(whole).map(\.id))
        }
        // At first prints alone, then the verified cover before the last steps.
        #expect(counts.first == 0 && counts.contains { $0 > 0 } && counts.count < 10, "\(counts)")
    }

    @Test func aSearchThatNeedsNoMoreIsComplete() async throws {
        let prints = try CoverFixture(count: 3, localFeatures: false)
        let catalog = try Catalog(at: prints.catalog)
        let (matches, isComplete) = try await catalog.search(matching: CoverFixture.cover(1), within: .zero)
        #expect(matches.first?.id == "c1" && isComplete)
        let fixture = try CoverFixture()
        let options = SearchOptions(effort: .prints, budget: TimeBudget(.zero, clock: CountingClock()))
        let verified = try Catalog(at: fixture.catalog)
        #expect(try await verified.query(for: CoverFixture.cover(1), options: options).isComplete)
        let late = try await verified.query(for: CoverFixture.photograph(of: 2).image, options: options)
        #expect(late.prints.count == 1 && !late.isComplete)
    }
}
