import Catalogs
import DefaultModel
import FeaturePrints
import Foundation
import GRDB
import Imaging
import TestSupport
import Testing

/// Entities with several images: front and back, day and night.
struct SeveralImagesTests {
    private let folder: TemporaryFolder
    private var url: URL { folder.file("catalog") }

    init() throws { folder = try TemporaryFolder() }

    private static func shapes(_ seed: UInt64) -> PixelBuffer {
        SampleImage.shapes(seed: seed, width: 300, height: 260)
    }

    /// Writes images that are not there yet, and returns the item of an entity that has them.
    private func item(_ id: String, _ seeds: [UInt64], type: String? = nil) throws -> IndexItem {
        let files = try seeds.map { seed in
            let file = folder.file("\(seed).png")
            let isThere = FileManager.default.fileExists(atPath: file.path)
            return isThere ? file : try folder.write(Self.shapes(seed).pngData(), to: "\(seed).png")
        }
        return IndexItem(CatalogEntity(id: id, type: type), images: files.map { .file($0) })
    }

    private func path(_ seed: UInt64) -> String { folder.file("\(seed).png").path }

    @discardableResult
    private func index(_ items: [IndexItem]) throws -> IndexReport { try CatalogIndexer(at: url).index(items) }

    private static func counts(_ report: IndexReport) -> [Int] { [report.added, report.updated, report.unchanged] }

    // MARK: Search

    /// A photograph of the front and the back beside another thing.
    @Test func anEntityThatIsShownTwiceIsOneObject() async throws {
        try index([item("a", [1, 2]), item("b", [3]), item("c", [4, 5])])
        var image = SampleImage.shapes(seed: 900, width: 1000, height: 640, count: 60)
        for (seed, center) in [(1, SIMD2(170.0, 150.0)), (2, SIMD2(500, 150)), (3, SIMD2(320, 470))] {
            let shown = Self.shapes(UInt64(seed))
            image = image.drawing(shown, at: Placement(of: shown, degrees: 4, center: center))
        }
        let catalog = try Catalog(at: url)
        let all = try await catalog.search(matching: image)
        #expect(Set(all.map(\.id)) == ["a", "b"])
        for count in 1...3 {
            let found = try await catalog.search(matching: image, options: SearchOptions(maxObjects: count))
            #expect(found.map(\.id) == all.prefix(count).map(\.id), "\(count)")
        }
    }

    @Test(arguments: SearchEffort.allCases)
    func anEntityIsFoundByAnyOfItsImages(effort: SearchEffort) async throws {
        try index([item("a", [1, 2, 3], type: "x"), item("b", [4], type: "y"), item("c", [5, 6], type: "x")])
        let catalog = try Catalog(at: url)
        #expect(catalog.count == 3)
        for (seed, id, place) in [(1, "a", 0), (2, "a", 1), (3, "a", 2), (4, "b", 0), (5, "c", 0), (6, "c", 1)] {
            let image = Self.shapes(UInt64(seed))
            let options = SearchOptions(bounds: .none, effort: effort)
            let matches = try await catalog.search(matching: image, options: options)
            #expect(Set(matches.map(\.id)).count == matches.count && matches.count == 3)
            let match = try #require(matches.first)
            #expect(match.id == id && match.imageIndex == place && match.image == path(UInt64(seed)))
            #expect(match.distance < 0.01)
            #expect((match.outline != nil) == (effort != .prints))
            var filtered = options
            filtered.condition = .isAnyOf(.type, ["x"])
            let some = try await catalog.search(matching: image, options: filtered)
            #expect(Set(some.map(\.id)) == ["a", "c"] && (id == "b" || some.first?.imageIndex == place))
        }
        let json = try #require(
            try JSONSerialization.jsonObject(
                with: JSONEncoder().encode(
                    try await catalog.search(matching: Self.shapes(6), options: SearchOptions(effort: effort))[0]))
                as? [String: Any])
        #expect(json["image"] as? String == path(6) && json["imageIndex"] as? Int == 1)
        let single = try await catalog.search(matching: Self.shapes(4), options: SearchOptions(effort: effort))[0]
        let text = String(decoding: try JSONEncoder().encode(single), as: UTF8.self)
        #expect(!text.contains("imageIndex") && !text.contains("\"images\""))
    }

    /// A sharper copy of the cover is no rival that takes half of the evidence.
    @Test func imagesOfAnEntityAreNoRivals() async throws {
        let cover = Self.shapes(1)
        let small = Resizer(width: 240, height: 208).resizedPixels(of: cover)
        func confidence(_ images: [PixelBuffer], named name: String) async throws -> (Double, Int) {
            let indexer = try CatalogIndexer(at: folder.file(name))
            var items = [IndexItem(CatalogEntity(id: "a"), images: images.map { .pixels($0) })]
            items += (10..<14).map { IndexItem(CatalogEntity(id: "\($0)"), image: .pixels(Self.shapes($0))) }
            _ = try indexer.index(items)
            let photo = SampleImage.shapes(seed: 900, width: 640, height: 480, count: 60)
                .drawing(cover, at: Placement(of: cover, scale: 0.9, degrees: 20, center: SIMD2(320, 240)))
            let matches = try await Catalog(at: folder.file(name)).search(matching: photo)
            return (matches.first { $0.id == "a" }?.confidence ?? 0, matches.count)
        }
        let alone = try await confidence([cover], named: "one")
        let both = try await confidence([cover, small], named: "two")
        #expect(alone.0 > 0.9 && both.0 >= alone.0 - 0.02, "\(alone) \(both)")
        #expect(alone.1 == 1 && both.1 == 1)
    }

    /// The ranking is that of a catalog with an entity per image, each entity at its first image.
    @Test(arguments: [false, true]) func pagesNeitherRepeatNorSkip(isFiltered: Bool) async throws {
        let indexer = try CatalogIndexer(at: url)
        let separate = try CatalogIndexer(at: folder.file("separate"))
        // One entity has most of the nearest images; some images are the same.
        let counts = [1, 70, 3, 1, 2, 5, 1, 1, 9, 2]
        var (seed, items, single) = (UInt64(0), [IndexItem](), [IndexItem]())
        for (entity, count) in counts.enumerated() {
            var prints: [IndexImage] = []
            for place in 0..<count {
                if place % 4 != 3 { seed += 1 }
                let image = entity == 1 ? Self.near(place) : SampleImage.blocks(seed: seed % 17)
                let print = try indexer.model.featurePrint(for: image)
                prints.append(.print(print))
                single.append(
                    IndexItem(
                        CatalogEntity(id: "\(entity) \(place)", type: "\(entity % 2)"), image: .print(print)))
            }
            items.append(IndexItem(CatalogEntity(id: "\(entity)", type: "\(entity % 2)"), images: prints))
        }
        #expect(try indexer.index(items).added == counts.count)
        _ = try separate.index(single)
        let (catalog, reference) = try (Catalog(at: url), Catalog(at: folder.file("separate")))
        #expect(try await catalog.info.imageCount == single.count)
        let condition = isFiltered ? Condition.isAnyOf(.type, ["1"]) : .everything
        for image in [Self.near(0), SampleImage.blocks(seed: 3), Self.shapes(1)] {
            let query = try await catalog.query(for: [catalog.model.featurePrint(for: image)])
            let all = try await reference.search(
                query, options: SearchOptions(limit: 1000, bounds: .none, condition: condition))
            var seen: Set<Substring> = []
            let expected = all.map { ($0.id.split(separator: " "), $0.distance) }.filter {
                seen.insert($0.0[0]).inserted
            }
            for limit in [1, 2, 3, 100] {
                var found: [CatalogMatch] = []
                let options = SearchOptions(limit: limit, bounds: .none, condition: condition)
                for try await page in catalog.pages(of: query, options: options) { found += page }
                #expect(found.map(\.id) == expected.map { String($0.0[0]) }, "\(limit)")
                #expect(found.map(\.distance) == expected.map(\.1))
                #expect(found.map { "\($0.imageIndex)" } == expected.map { String($0.0[1]) })
            }
            let whole = try await catalog.query(
                for: image, options: SearchOptions(condition: condition, effort: .prints))
            #expect(whole.matchThreshold != nil)
            let facets = try await catalog.facets(
                of: whole, by: [.type], options: SearchOptions(bounds: .none, condition: condition))
            #expect(facets[0].values.map(\.count) == (isFiltered ? [5] : [5, 5]))
        }
    }

    private static func near(_ place: Int) -> PixelBuffer {
        SampleImage.blocks(seed: 500, width: 96 + place % 10, height: 80 + place / 10)
    }

    /// Verified images rank their entities, others have a place by their prints.
    @Test func pagesOfVerifiedEntities() async throws {
        try index((0..<8).map { try item("\($0)", [$0, $0 + 100, $0 + 200].map(UInt64.init)) })
        let catalog = try Catalog(at: url)
        var photo = SampleImage.shapes(seed: 900, width: 640, height: 480, count: 60)
        for (seed, x) in [(UInt64(2), 160.0), (103, 480)] {
            let image = Self.shapes(seed)
            photo = photo.drawing(image, at: Placement(of: image, scale: 0.8, degrees: 10, center: SIMD2(x, 240)))
        }
        let query = try await catalog.query(for: photo)
        let all = try await catalog.search(query, options: SearchOptions(limit: 100, bounds: .none))
        #expect(all.count == 8 && Set(all.map(\.id)).count == 8)
        #expect(Set(all.prefix(2).map { "\($0.id) \($0.imageIndex)" }) == ["2 0", "3 1"])
        for kept in [query, query.withoutScan] {
            for limit in [1, 3] {
                var found: [CatalogMatch] = []
                for try await page in catalog.pages(of: kept, options: SearchOptions(limit: limit, bounds: .none)) {
                    found += page
                }
                #expect(found == all)
            }
        }
        let similar = try await catalog.similar(to: query, besides: Array(all.prefix(2)))
        #expect(similar.count == 6 && Set(similar.map(\.id)).isDisjoint(with: ["2", "3"]))
    }

    @Test func moreLikeAnyOfTheImages() async throws {
        try index([item("a", [1, 2]), item("b", [3, 4]), item("c", [5])])
        // An image that one has first, and the other second.
        try index([IndexItem(CatalogEntity(id: "d"), image: .pixels(Self.shapes(2)))])
        let catalog = try Catalog(at: url)
        let query = try await catalog.query(similarTo: "a")
        let matches = try await catalog.search(query, options: SearchOptions(bounds: .none))
        #expect(matches.map(\.id).first == "d" && !matches.map(\.id).contains("a") && matches.count == 3)
        #expect(query.prints.count == 2)
    }

    // MARK: Index

    @Test func onlyWhatChangedIsReadAgain() async throws {
        try index([item("a", [1, 2, 3]), item("b", [4])])
        let catalog = try Catalog(at: url)
        #expect(Self.counts(try index([item("a", [1, 2, 3]), item("b", [4])])) == [0, 0, 2])
        let revision = try await catalog.info.revision

        // Other files of the same bytes, and other metadata: no image is embedded.
        let moved = IndexItem(
            CatalogEntity(id: "a", title: "A"),
            images: try [1, 2, 3].map { .file(try folder.write(Self.shapes($0).pngData(), to: "moved/\($0).png")) })
        #expect(Self.counts(try index([moved])) == [0, 1, 0])
        #expect(try await catalog.info.revision == revision)
        let paths = try await catalog.entities(for: ["a"])[0].images
        #expect(paths == ["1", "2", "3"].map { folder.file("moved/\($0).png").path })

        // The files of images that stay are damaged, with their stamps as before: they are not read.
        for place in [0, 2] {
            let attributes = try FileManager.default.attributesOfItem(atPath: paths[place])
            let size = try #require(attributes[.size] as? Int)
            try Data(count: size).write(to: URL(fileURLWithPath: paths[place]))
            try FileManager.default.setAttributes(
                [.modificationDate: try #require(attributes[.modificationDate])], ofItemAtPath: paths[place])
        }
        try folder.write(Self.shapes(12).pngData(), to: "moved/2.png")
        let report = try index([moved])
        // A clock that is finer than what Foundation restores makes these files look changed.
        if report.problems.isEmpty { #expect(Self.counts(report) == [0, 1, 0]) }
        func found(_ seed: UInt64) async throws -> String? {
            try await catalog.search(matching: Self.shapes(seed)).first.map { "\($0.id) \($0.imageIndex)" }
        }
        #expect(try await found(12) == "a 1")
        #expect(try await found(2) == nil)
        #expect(try await found(3) == "a 2")
        #expect(try await catalog.verify().isEmpty)
    }

    @Test func imagesAreAddedMovedAndRemoved() async throws {
        try index([item("a", [1, 2, 3]), item("b", [4])])
        let catalog = try Catalog(at: url)
        func thumbnails(_ count: Int) async throws -> [Data?] {
            var all: [Data?] = []
            for place in 0..<count { all.append(try await catalog.storedThumbnail(for: "a", image: place)) }
            return all
        }
        let before = try await thumbnails(3)
        #expect(Set(before).count == 3 && !before.contains(nil))
        for (seeds, expected) in [
            ([3, 1, 2], [2, 0, 1]), ([1, 2, 3], [0, 1, 2]), ([2, 9, 1], [1, nil, 0]), ([1], [0]), ([1, 2], [0, nil]),
        ] as [([UInt64], [Int?])] {
            #expect(Self.counts(try index([item("a", seeds)])) == [0, 1, 0])
            #expect(Self.counts(try index([item("a", seeds)])) == [0, 0, 1])
            #expect(try await catalog.entities(for: ["a"])[0].images == seeds.map(path))
            let after = try await thumbnails(seeds.count)
            for (place, old) in expected.enumerated() where old != nil { #expect(after[place] == before[old ?? 0]) }
            #expect(try await catalog.storedThumbnail(for: "a", image: seeds.count) == nil)
            for (place, seed) in seeds.enumerated() {
                let match = try await catalog.search(matching: Self.shapes(seed)).first
                #expect(match?.id == "a" && match?.imageIndex == place && match?.outline != nil, "\(seeds)")
            }
            #expect(try await catalog.info.imageCount == seeds.count + 1)
            #expect(try await catalog.verify().isEmpty)
        }
        try CatalogIndexer(at: url).removeAll(["a"])
        #expect(try await catalog.info.imageCount == 1 && catalog.count == 1)
        #expect(try await catalog.verify().isEmpty)
    }

    @Test func anImageThatCannotBeReadIsNamed() async throws {
        let broken = try folder.write("broken", to: "broken.jpg")
        var new = try item("a", [1, 2])
        new.images.insert(.file(broken), at: 1)
        new.entity.images.insert(broken.path, at: 1)
        new.origin = "list.csv:2"
        let indexer = try CatalogIndexer(at: url)
        // One item is all or nothing.
        let error = await #expect(throws: IndexProblem.self) { try await indexer.upsert(new) }
        #expect(error?.description.contains("list.csv:2: \(broken.path): is of no known image format") == true)
        var report = try indexer.index([new])
        #expect(Self.counts(report) == [1, 0, 0] && report.failed == 0 && report.processed == 1)
        #expect(report.problems.map(\.description) == [error?.description])
        let catalog = try Catalog(at: url)
        #expect(try await catalog.entities(for: ["a"])[0].images == [path(1), path(2)])
        #expect(try await catalog.search(matching: Self.shapes(2)).first?.imageIndex == 1)

        // What is stored of an image stays.
        try folder.write("broken", to: "2.png")
        report = try indexer.index([new])
        #expect(Self.counts(report) == [0, 0, 1] && report.problems.count == 2)
        #expect(try await catalog.search(matching: Self.shapes(2)).first?.imageIndex == 1)

        try folder.write("broken", to: "1.png")
        report = try indexer.index([new, item("b", [3])])
        #expect(Self.counts(report) == [1, 0, 0] && report.failed == 1 && report.problems.count == 3)
        #expect(report.processed == 2)
        #expect(try await catalog.search(matching: Self.shapes(1)).first?.id == "a")
        report = try indexer.index([IndexItem(CatalogEntity(id: "none"), images: [])])
        #expect(report.failed == 1 && report.problems.first?.reason == "has no image")
    }

    @Test func pruneRemovesImages() async throws {
        var c = try item("c", [6])
        c.images.append(.pixels(Self.shapes(7)))
        try index([item("a", [1, 2, 3]), item("b", [4, 5]), c])
        let catalog = try Catalog(at: url)
        for seed in [1, 4, 5, 6] { try FileManager.default.removeItem(at: folder.file("\(seed).png")) }
        #expect(try CatalogIndexer(at: url).prune() == ["b"])
        #expect(try await catalog.entities(for: ["a", "b", "c"]).map(\.images) == [[path(2), path(3)], [""]])
        #expect(try await catalog.info.imageCount == 3)
        for (seed, id, place) in [(2, "a", 0), (3, "a", 1), (7, "c", 0)] {
            let match = try await catalog.search(matching: Self.shapes(UInt64(seed))).first
            #expect(match?.id == id && match?.imageIndex == place)
        }
        // Drawings of one style resemble each other.
        let surely = SearchOptions(bounds: MatchBounds(minConfidence: 0.9))
        #expect(try await catalog.search(matching: Self.shapes(6), options: surely).isEmpty)
        #expect(try await catalog.verify().isEmpty)
        for seed in [2, 3] { try FileManager.default.removeItem(at: folder.file("\(seed).png")) }
        #expect(throws: CatalogError(subject: url.path, reason: .allImagesMissing(count: 1))) {
            try CatalogIndexer(at: url).prune()
        }
        #expect(try CatalogIndexer(at: url).prune(evenIfAll: true) == ["a"])
    }

    @Test func manyImagesOfAnEntityAreEmbeddedInParts() async throws {
        let images = (0..<21).map { IndexImage.pixels(SampleImage.blocks(seed: $0)) }
        try index([IndexItem(CatalogEntity(id: "a"), images: images)])
        let catalog = try Catalog(at: url)
        for place in [0, 7, 8, 20] {
            let match = try await catalog.search(
                matching: SampleImage.blocks(seed: UInt64(place)), options: SearchOptions(effort: .prints)
            ).first
            #expect(match?.imageIndex == place)
        }
        #expect(try await catalog.verify().isEmpty)
    }

    // MARK: Manifests

    @Test func manifestsNameSeveralImages() throws {
        let csv = try folder.write(
            "id,image,images\na,1.png,\nb,,1.png| 2.png |\nc,1.png,2.png|1.png|3.png\nd,,|\n", to: "list.csv")
        var (items, problems) = try ImageSource.items(at: csv)
        func names() -> [[String]] {
            items.map { $0.entity.images.map { $0.split(separator: "/").last.map(String.init) ?? "" } }
        }
        #expect(names() == [["1.png"], ["1.png", "2.png"], ["1.png", "2.png", "3.png"]])
        #expect(items.allSatisfy { $0.entity.attributes.isEmpty && $0.images.count == $0.entity.images.count })
        #expect(items[1].entity.images[1] == path(2))
        #expect(problems.map(\.description) == ["\(csv.path):5: has no image"])
        let json = try folder.write(
            """
            {"id":"a","images":["1.png","2.png"]}
            {"id":"b","image":"1.png","images":null}
            {"id":"c","images":"1.png"}
            {"id":"d","images":["1.png",2]}
            {"id":"e","images":[]}
            """, to: "list.jsonl")
        (items, problems) = try ImageSource.items(at: json)
        #expect(names() == [["1.png", "2.png"], ["1.png"]])
        #expect(
            problems.map { $0.description.replacingOccurrences(of: json.path, with: "list.jsonl") } == [
                "list.jsonl:3: its “images” are not a list of paths",
                "list.jsonl:4: its “images” are not a list of paths", "list.jsonl:5: has no image",
            ])
        #expect(try ImageSource.items(at: folder.write("id,images\na,1.png\n", to: "b.csv")).items.count == 1)
    }

    @Test func anEntityIsDecodedAsItWasEncoded() throws {
        for images in [["a"], ["a", "b"], [""]] {
            let entity = CatalogEntity(id: "x", title: "T", attributes: ["k": "v"], images: images)
            let data = try JSONEncoder().encode(entity)
            #expect(try JSONDecoder().decode(CatalogEntity.self, from: data) == entity)
            #expect(String(decoding: data, as: UTF8.self).contains("\"images\"") == (images.count > 1))
        }
        var entity = CatalogEntity(id: "x", images: [])
        #expect(entity.image.isEmpty)
        entity.image = "a"
        #expect(entity.images == ["a"])
    }

    // MARK: Other ways to read a catalog

    @Test func imagesOfOneEntityAreNoDuplicates() async throws {
        func item(_ id: String, _ seeds: [UInt64]) -> IndexItem {
            IndexItem(CatalogEntity(id: id), images: seeds.map { .pixels(Self.shapes($0)) })
        }
        try index([item("a", [1, 2]), item("b", [3, 3]), item("c", [2, 1, 1])])
        let catalog = try Catalog(at: url)
        let groups = try await catalog.duplicates()
        #expect(groups.map(\.reference.id) == ["a"] && groups.first?.duplicates.map(\.entity.id) == ["c"])
        let matches = try await catalog.search(matching: Self.shapes(2))
        #expect(Set(matches.map(\.id)) == ["a", "c"])
        let folded = try await catalog.grouped(matches)
        #expect(folded.count == 1 && folded[0].duplicates.count == 1)
    }

    /// By the groups that are kept, as by a comparison of the images.
    @Test func matchesAreFoldedByTheImagesThatMatch() async throws {
        try index([
            item("a", [1, 2, 3]), item("b", [3, 4]), item("c", [1]), item("d", [2, 5]), item("e", [2, 3]),
        ])
        let catalog = try Catalog(at: url)
        for isKept in [false, true] {
            if isKept { _ = try await catalog.duplicates() }
            for (seed, ids) in [(1, ["a", "c"]), (2, ["a", "d", "e"]), (3, ["a", "b", "e"]), (4, ["b"])] {
                let matches = try await catalog.search(matching: Self.shapes(UInt64(seed)))
                let folded = try await catalog.grouped(matches)
                #expect(
                    folded.map { ([$0.match] + $0.duplicates).map(\.id).sorted() } == [ids], "\(seed), kept: \(isKept)")
            }
        }
    }

    @Test func copiesAndExportsHaveAllImages() async throws {
        try index([item("a", [1, 2]), item("b", [3])])
        let catalog = try Catalog(at: url)
        try await catalog.copy(to: folder.file("copy"))
        let copy = try Catalog(at: folder.file("copy"))
        #expect(try await copy.verify().isEmpty)
        #expect(try await copy.search(matching: Self.shapes(2)).first?.imageIndex == 1)
        #expect(try await catalog.export(to: folder.file("export")) == 2)
        func lines(_ name: String) throws -> [[String: Any]] {
            try String(contentsOf: folder.file("export/\(name)"), encoding: .utf8).split(separator: "\n").map {
                try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }
        }
        #expect(try lines("entities.jsonl").map { $0["image"] as? String } == [path(1), path(2), path(3)])
        #expect(try lines("entities.jsonl").map { ($0["images"] as? [String])?.count } == [2, 2, nil])
        #expect(try lines("features.jsonl").map { $0["imageIndex"] as? Int } == [0, 1, nil])
        let matrix = try Data(contentsOf: folder.file("export/prints.npy"))
        #expect(String(decoding: matrix.prefix(128), as: UTF8.self).contains("(3, \(catalog.model.dimension))"))
    }

    @Test func imagesThatWereSwappedOrLostAreFound() async throws {
        try index([item("a", [1, 2]), item("b", [3])])
        let database = try DatabaseQueue(path: url.appendingPathComponent("catalog.sqlite").path)
        try await database.write { db in
            try db.execute(
                sql: """
                    CREATE TEMP TABLE copy AS SELECT * FROM thumbnail;
                    UPDATE thumbnail SET data = (SELECT data FROM copy WHERE copy.row <> thumbnail.row
                        AND copy.row >> 14 = 1) WHERE row >> 14 = 1;
                    """)
        }
        #expect(
            try await Catalog(at: url).verify() == [
                "entity “a”: its thumbnail is damaged or another image’s",
                "entity “a”, image 2: its thumbnail is damaged or another image’s",
            ])
        try await database.write { try $0.execute(sql: "DELETE FROM print WHERE row = 1 << 14 | 1") }
        #expect(try await Catalog(at: url).verify().first == "entity “a” has 1 prints of its 2 images")
    }

    @Test func anEvaluationCountsEntities() async throws {
        try index([item("a", [1, 2]), item("b", [3, 4]), item("c", [5])])
        let result = try await Catalog(at: url).evaluate(
            Self.shapes(2), targets: ["a"], leaveOut: true, options: SearchOptions(limit: 3))
        #expect(result.matches.first?.id == "a" && result.matches.count == 3)
        #expect(result.observations.count { $0.isRight && !$0.isWithoutTargets } == 1)
        #expect(result.withoutTargets != nil)
    }
}
