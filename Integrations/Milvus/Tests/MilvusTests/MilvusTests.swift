import Foundation
import Lookalike
import MilvusCatalog
import Testing

/// Catalogs in Milvus; each test has a server of its own.
@Suite(.enabled(if: MilvusServer.program != nil), .serialized) struct MilvusTests {
    private let server: MilvusServer
    private let folder: TemporaryFolder

    init() async throws { (server, folder) = (try await MilvusServer(), try TemporaryFolder()) }

    @Test func aCatalogInMilvusAnswersAsTheOneThatWasPushed() async throws {
        let local = try Demo.index(into: folder("catalog"))
        let pushed = try await MilvusCatalog.push(local, to: server.address("demo"))
        #expect(pushed == report(written: local.count))
        let milvus = try await MilvusCatalog(server.address("demo"))
        let remote = try await RemoteCatalogSearch(milvus)
        #expect(remote.count == local.count)
        #expect(try await milvus.pull(into: folder("pulled")) == report(written: local.count))
        let pulled = try Catalog(at: folder("pulled"))
        for image in try Demo.queries() {
            for options in [
                SearchOptions(), SearchOptions(bounds: .none),
                SearchOptions(limit: 3, bounds: .none, condition: EntityField.attribute("year") >= 2005),
                SearchOptions(limit: 30, bounds: .none, effort: .prints),
            ] {
                let expected = try await local.search(matching: image, options: options)
                #expect(try await remote.search(matching: image, options: options) == expected)
                #expect(try await pulled.search(matching: image, options: options) == expected)
            }
        }
        // Nothing is left to do.
        #expect(try await MilvusCatalog.push(local, to: server.address("demo")) == report(unchanged: local.count))
        #expect(try await MilvusCatalog.push(pulled, to: server.address("demo")) == report(unchanged: local.count))
        #expect(try await milvus.pull(into: folder("pulled")) == report(unchanged: local.count))
    }

    @Test func pagesHaveNoGaps() async throws {
        let local = try Drawn.index(300, into: folder("catalog"))
        _ = try await MilvusCatalog.push(local, to: server.address("pages"))
        let remote = try await RemoteCatalogSearch(MilvusCatalog(server.address("pages")))
        let prints = [Drawn.print(7, of: local.model), Drawn.print(1000, of: local.model)]
        let options = SearchOptions(limit: 37, bounds: .none)
        var (expected, found) = ([CatalogMatch](), [CatalogMatch]())
        for try await page in try await local.pages(of: local.query(for: prints), options: options) { expected += page }
        for try await page in try await remote.pages(of: remote.query(for: prints), options: options) { found += page }
        #expect(expected.count == 300 && found == expected)
    }

    @Test func entitiesWithSeveralImagesAreRankedByTheNearest() async throws {
        let indexer = try CatalogIndexer(at: folder("catalog"))
        let items = (0..<40).map { number in
            IndexItem(
                CatalogEntity(id: "\(number)"),
                images: (0...(number % 4)).map { .print(Drawn.print(10 * number + $0, of: indexer.model)) })
        }
        #expect(try indexer.index(items).added == 40)
        let local = try Catalog(at: folder("catalog"))
        #expect(try await MilvusCatalog.push(local, to: server.address("several")).written == 100)
        let remote = try await RemoteCatalogSearch(MilvusCatalog(server.address("several")))
        for number in [0, 13, 32, 393, 5000] {
            let prints = [Drawn.print(number, of: local.model)]
            let options = SearchOptions(limit: 15, bounds: .none)
            var (expected, found) = ([CatalogMatch](), [CatalogMatch]())
            let (ofLocal, ofRemote) = try await (local.query(for: prints), remote.query(for: prints))
            for try await page in local.pages(of: ofLocal, options: options) { expected += page }
            for try await page in remote.pages(of: ofRemote, options: options) { found += page }
            #expect(expected.count == 40 && found == expected)
        }
    }

    @Test func conditionsHoldAsInACatalog() async throws {
        let local = try Drawn.index(60, into: folder("catalog"), entity: Self.entity)
        _ = try await MilvusCatalog.push(local, to: server.address("conditions"))
        let remote = try await RemoteCatalogSearch(MilvusCatalog(server.address("conditions")))
        func ids(_ catalog: any SearchableCatalog, _ condition: Condition) async throws -> [String] {
            let query = try await catalog.query(for: [Drawn.print(3, of: local.model)])
            return try await catalog.search(
                query, options: SearchOptions(limit: 100, bounds: .none, condition: condition)
            ).map(\.id)
        }
        for condition in try Self.conditions {
            for condition in [condition, !condition, condition && EntityField.type.isAnyOf(["a"])] {
                #expect(try await ids(remote, condition) == ids(local, condition), "\(condition)")
            }
        }
        for condition in [EntityField.label.hasPrefix("x"), EntityField.label > 3, EntityField.id > 3] {
            await #expect(throws: MilvusError.self) { try await ids(remote, condition) }
        }
    }

    private static let texts = [
        "plain", "with \"quotes\" and \\backslash", "tab\tand\nnewline", "é composed", "e\u{301} decomposed", "100%_x",
        "日本語", "[0]", "' or 1 == 1", "",
    ]

    private static func entity(_ number: Int) -> CatalogEntity {
        var attributes: [String: String] = [:]
        if number % 2 == 0 { attributes["price"] = ["9.90", "12", "-3", "1e2", "free", "0.1"][number / 2 % 6] }
        if number % 3 == 0 {
            attributes["date"] = ["1969-07-20", "1969-07-20T20:17Z", "1970", "later", "1969"][number / 3 % 5]
        }
        if number % 5 == 0 { attributes["na\"me.with [odd] 名%"] = texts[number / 5 % texts.count] }
        return CatalogEntity(
            id: "id \(number)", type: ["a", "b", nil][number % 3], title: texts[number % texts.count],
            labels: number % 4 == 0 ? [] : [texts[number % 7], "\(number % 6)"], attributes: attributes)
    }

    private static var conditions: [Condition] {
        get throws {
            let (price, date) = (EntityField.attribute("price"), EntityField.attribute("date"))
            let odd = EntityField.attribute("na\"me.with [odd] 名%")
            return [
                .everything, .any([]), EntityField.id.isAnyOf(["id 7", "id 8", "id"]), EntityField.type.exists,
                EntityField.type.isAnyOf(["a", "c"]), EntityField.label.isAnyOf(["3", texts[1]]),
                EntityField.label.exists, price.exists, price < 12, price <= 12, price > -3, price.isIn(0...50),
                date.exists, odd.exists, odd.isAnyOf(texts),
                .number(price, ValueRange(from: .init(-.infinity, isIncluded: true))),
                try Condition(parsing: "date >= 1969-07-20"), try Condition(parsing: "date <= 1969-07-20"),
                try Condition(parsing: "date > 1969-07-20"), try Condition(parsing: "date < 1970"),
                EntityField.title.hasPrefix("1"), EntityField.title.hasPrefix("with \""),
                EntityField.title.hasPrefix(""), EntityField.id.hasPrefix("id 1"),
                price < 12 || EntityField.label.isAnyOf(["2"]), !(price < 12) && !date.exists,
            ] + texts.map { EntityField.title.isAnyOf([$0]) } + texts.map { EntityField.label.isAnyOf([$0]) }
        }
    }

    // MARK: Pushes

    @Test func anInterruptedPushGoesOnWhereItEnded() async throws {
        let local = try Drawn.index(1_200, into: folder("catalog"))
        let address = try server.address("half")
        let push = Task {
            try await MilvusCatalog.push(local, to: address) { report in
                if report.written >= 500 { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        await #expect(throws: CancellationError.self) { try await push.value }
        await #expect { _ = try await MilvusCatalog(address) } throws: {
            ($0 as? MilvusError)?.reason == .incomplete
        }
        let done = try await MilvusCatalog.push(local, to: address)
        #expect(done == report(written: 700, unchanged: 500))
        #expect(
            try await MilvusCatalog(address).counts() == RemoteCounts(entities: 1_200, images: 1_200))
    }

    @Test func aPushFollowsTheChangesOfItsCatalog() async throws {
        _ = try Drawn.index(150, into: folder("catalog"))
        _ = try await MilvusCatalog.push(Catalog(at: folder("catalog")), to: server.address("changes"))
        let indexer = try CatalogIndexer(at: folder("catalog"))
        _ = try indexer.removeAll(["entity-3", "entity-149"])
        try await indexer.update("entity-5") { $0.title = "changed" }
        try await indexer.upsert(
            IndexItem(CatalogEntity(id: "new"), image: .print(Drawn.print(900, of: indexer.model))))
        let local = try Catalog(at: folder("catalog"))
        let pushed = try await MilvusCatalog.push(local, to: server.address("changes"))
        #expect(pushed == report(written: 2, unchanged: 147, removed: 2))
        let remote = try await RemoteCatalogSearch(MilvusCatalog(server.address("changes")))
        let options = SearchOptions(limit: 200, bounds: .none)
        let prints = [Drawn.print(5, of: local.model)]
        let expected = try await local.search(local.query(for: prints), options: options)
        #expect(try await remote.search(remote.query(for: prints), options: options) == expected)
        #expect(expected.count == 149)
    }

    @Test func entriesOfOtherModelsAreRefused() async throws {
        let without = try Demo.index(into: folder("without"), localFeatures: false)
        _ = try await MilvusCatalog.push(without, to: server.address("models"))
        let with = try Demo.index(into: folder("with"))
        await #expect { try await MilvusCatalog.push(with, to: server.address("models")) } throws: {
            guard case .otherModels? = ($0 as? MilvusError)?.reason else { return false }
            return true
        }
        #expect(try await RemoteCatalogSearch(MilvusCatalog(server.address("models"))).hasLocalFeatures == false)
    }

    // MARK: Indexes, partitions and shards

    @Test(arguments: [
        MilvusIndex.ivf, .hnsw, .ivf(lists: 4, searched: 4), .hnsw(neighbors: 8, construction: 64, search: 1),
    ])
    func otherIndexesAnswer(index: MilvusIndex) async throws {
        let local = try Drawn.index(400, into: folder("catalog"))
        let settings = MilvusSettings(index: index)
        _ = try await MilvusCatalog.push(local, to: server.address("other"), settings: settings)
        for options in [MilvusOptions(), MilvusOptions(breadth: 400)] {
            let remote = try await RemoteCatalogSearch(MilvusCatalog(server.address("other"), options: options))
            for number in [3, 250, 399] {
                let query = try await remote.query(for: [Drawn.print(number, of: local.model)])
                let found = try await remote.search(query, options: SearchOptions(limit: 1, bounds: .none))
                #expect(found.map(\.id) == ["entity-\(number)"])
            }
        }
    }

    @Test(arguments: [MilvusIndex.ivf(lists: 64, searched: 1), .hnsw(neighbors: 4, construction: 8, search: 1)])
    func aFilterLeavesAsManyAsThereAre(index: MilvusIndex) async throws {
        let local = try Drawn.index(400, into: folder("catalog"), entity: Self.entity)
        _ = try await MilvusCatalog.push(local, to: server.address("full"), settings: MilvusSettings(index: index))
        let remote = try await RemoteCatalogSearch(MilvusCatalog(server.address("full")))
        let isA = EntityField.type.isAnyOf(["a"])
        for condition in [isA, !isA, isA && EntityField.title.hasPrefix("1"), .everything] {
            for limit in [5, 50, 400] {
                let options = SearchOptions(limit: limit, bounds: .none, condition: condition)
                let prints = [Drawn.print(3, of: local.model)]
                let expected = try await local.search(local.query(for: prints), options: options)
                let found = try await remote.search(remote.query(for: prints), options: options)
                #expect(found.count == expected.count && Set(found.map(\.id)).count == found.count)
                if found.count < limit { #expect(Set(found.map(\.id)) == Set(expected.map(\.id))) }
            }
        }
    }

    @Test func partitionsByTypeAnswerAsWithout() async throws {
        let local = try Drawn.index(60, into: folder("catalog"), entity: Self.entity)
        let settings = MilvusSettings(isPartitionedByType: true)
        _ = try await MilvusCatalog.push(local, to: server.address("types"), settings: settings)
        func check(_ local: Catalog) async throws {
            let remote = try await RemoteCatalogSearch(MilvusCatalog(server.address("types")))
            #expect(remote.count == local.count)
            let isA = EntityField.type.isAnyOf(["a"])
            for condition in [
                .everything, isA, EntityField.type.isAnyOf(["b", "c", ""]), !isA, isA || EntityField.label.exists,
                isA && EntityField.title.hasPrefix("1"),
            ] {
                let options = SearchOptions(limit: 100, bounds: .none, condition: condition)
                let prints = [Drawn.print(3, of: local.model)]
                let expected = try await local.search(local.query(for: prints), options: options)
                #expect(try await remote.search(remote.query(for: prints), options: options) == expected)
            }
        }
        try await check(local)
        // A row whose type changes goes to another partition, and is there once.
        let indexer = try CatalogIndexer(at: folder("catalog"))
        for id in ["id 0", "id 2", "id 4"] { try await indexer.update(id) { $0.type = "c" } }
        let changed = try Catalog(at: folder("catalog"))
        let pushed = try await MilvusCatalog.push(changed, to: server.address("types"))
        #expect(pushed == report(written: 3, unchanged: 57))
        try await check(changed)
        let pulled = try await MilvusCatalog(server.address("types")).pull(into: folder("pulled"))
        #expect(pulled.written == 60)
    }

    @Test func shardsOfACollectionArePushedByThemselves() async throws {
        let whole = try Drawn.index(90, into: folder("whole"))
        let address = try server.address("shards")
        for shard in 0..<3 {
            let part = try Drawn.index(30, into: folder("\(shard)"), first: 30 * shard)
            #expect(try await MilvusCatalog.push(part, to: address, shard: shard) == report(written: 30))
        }
        func check(_ expected: Catalog) async throws {
            let remote = try await RemoteCatalogSearch(MilvusCatalog(address))
            #expect(remote.count == expected.count)
            for number in [0, 44, 89, 700] {
                let prints = [Drawn.print(number, of: expected.model)]
                let options = SearchOptions(limit: 20, bounds: .none)
                let matches = try await remote.search(remote.query(for: prints), options: options)
                let others = try await expected.search(expected.query(for: prints), options: options)
                // The rows of a shard are others than those of the whole.
                #expect(matches.map(\.id) == others.map(\.id))
                #expect(matches.map(\.distance) == others.map(\.distance))
            }
        }
        try await check(whole)
        #expect(try await MilvusCatalog(address).pull(into: folder("pulled")) == report(written: 90))
        try await check(Catalog(at: folder("pulled")))
        // What is removed from a shard leaves the others alone.
        let ids = (30..<60).filter { $0 != 44 }.map { "entity-\($0)" }
        _ = try CatalogIndexer(at: folder("1")).removeAll(ids)
        let pushed = try await MilvusCatalog.push(Catalog(at: folder("1")), to: address, shard: 1)
        #expect(pushed == report(unchanged: 1, removed: 29))
        _ = try CatalogIndexer(at: folder("whole")).removeAll(ids)
        try await check(Catalog(at: folder("whole")))
    }

    // MARK: Failures

    @Test func aPushGoesOnAfterTheServerWasKilled() async throws {
        let local = try Drawn.index(1_200, into: folder("catalog"))
        let address = try server.address("killed")
        await #expect {
            try await MilvusCatalog.push(local, to: address, options: MilvusOptions(readDeadline: .seconds(1))) {
                if $0.written >= 500 { server.stop() }
            }
        } throws: {
            guard case .unreachable? = ($0 as? MilvusError)?.reason else { return false }
            return true
        }
        try await server.start()
        let done = try await MilvusCatalog.push(local, to: address)
        #expect(done.written + done.unchanged == 1_200 && done.removed == 0)
        #expect(try await MilvusCatalog(address).counts() == RemoteCounts(entities: 1_200, images: 1_200))
        #expect(try await MilvusCatalog.push(local, to: address) == report(unchanged: 1_200))
    }

    @Test func aCollectionThatIsMissingOrOfAnotherModelIsRefused() async throws {
        await #expect { try await MilvusCatalog(server.address("none")) } throws: {
            ($0 as? MilvusError)?.reason == .missing
        }
        let address = try server.address("without")
        _ = try await MilvusCatalog.push(Demo.index(into: folder("catalog"), localFeatures: false), to: address)
        let remote = try await MilvusCatalog(address)
        // A catalog with another model for its prints, and one with local features.
        await #expect {
            try await remote.pull(into: folder("with"), model: OtherModel.load())
        } throws: {
            guard case .otherModels? = ($0 as? MilvusError)?.reason else { return false }
            return true
        }
        await #expect { try await RemoteCatalogSearch(remote, model: OtherModel.load()) } throws: {
            guard case .otherModel? = ($0 as? CatalogError)?.reason else { return false }
            return true
        }
    }

    @Test func aSearchOutlastsARestartOfTheServer() async throws {
        let local = try Demo.index(into: folder("catalog"))
        _ = try await MilvusCatalog.push(local, to: server.address("restart"))
        let options = MilvusOptions(readDeadline: .seconds(60))
        let remote = try await RemoteCatalogSearch(MilvusCatalog(server.address("restart"), options: options))
        let image = try #require(try Demo.queries().first)
        let expected = try await local.search(matching: image)
        #expect(try await remote.search(matching: image) == expected)
        server.stop()
        async let found = remote.search(matching: image)
        server.launch()
        #expect(try await found == expected)
    }

    @Test func aServerThatIsDownIsNamed() async throws {
        _ = try await MilvusCatalog.push(Drawn.index(3, into: folder("catalog")), to: server.address("down"))
        let options = MilvusOptions(readDeadline: .seconds(1))
        let remote = try await RemoteCatalogSearch(MilvusCatalog(server.address("down"), options: options))
        server.stop()
        await #expect {
            try await remote.search(remote.query(for: [Drawn.print(1, of: remote.model)]))
        } throws: {
            guard case .unreachable? = ($0 as? MilvusError)?.reason else { return false }
            return true
        }
    }

    private func report(written: Int = 0, unchanged: Int = 0, removed: Int = 0) -> CopyReport {
        var report = CopyReport()
        (report.written, report.unchanged, report.removed) = (written, unchanged, removed)
        return report
    }
}

/// What needs no server.
struct MilvusClientTests {
    @Test func aServerThatDoesNotAnswerIsNotWaitedForLongerThanTheDeadline() async throws {
        let port = try FreePort()
        await #expect {
            _ = try await MilvusCatalog(
                MilvusAddress("milvus://127.0.0.1:\(port.number)/slow"),
                options: MilvusOptions(readDeadline: .milliseconds(300)))
        } throws: {
            switch ($0 as? MilvusError)?.reason {
            // Before or after the connection was made.
            case .deadlineExceeded(seconds: 0.3)?, .unreachable?: true
            default: false
            }
        }
    }

    @Test func aServerThatStopsAnsweringIsNotWaitedForLongerThanTheDeadline() async throws {
        let server = try await FakeMilvus()
        server.fail("HasCollection", .silence)
        await #expect {
            _ = try await MilvusCatalog(
                server.address("slow"), options: MilvusOptions(readDeadline: .milliseconds(200)))
        } throws: {
            ($0 as? MilvusError)?.reason == .deadlineExceeded(seconds: 0.2)
        }
    }

    @Test func aWriteThatIsNotAnsweredIsNotSentAgain() async throws {
        // It may have been done.
        let server = try await FakeMilvus()
        server.fail("Upsert", .silence)
        let folder = try TemporaryFolder()
        let local = try Drawn.index(3, into: folder("catalog"))
        await #expect {
            try await MilvusCatalog.push(
                local, to: server.address("slow"), options: MilvusOptions(writeDeadline: .milliseconds(500)))
        } throws: {
            ($0 as? MilvusError)?.reason == .deadlineExceeded(seconds: 0.5)
        }
        #expect(server.callCount("Upsert") == 1)
    }

    @Test func rowsAreSentAgainAfterALostConnection() async throws {
        let server = try await FakeMilvus()
        let folder = try TemporaryFolder()
        let local = try Drawn.index(3, into: folder("catalog"))
        for method in ["Upsert", "Flush", "AlterCollection"] { server.fail(method, times: 2, .loss) }
        #expect(try await MilvusCatalog.push(local, to: server.address("lost")).written == 3)
        #expect(server.callCount("Upsert") == 3 && server.callCount("AlterCollection") == 3)
        func expectUnreachable() async throws {
            await #expect {
                try await MilvusCatalog.push(local, to: server.address("lost"))
            } throws: {
                if case .unreachable? = ($0 as? MilvusError)?.reason { true } else { false }
            }
        }
        // A server that is down is an error soon.
        server.fail("Upsert", times: 1_000, .loss)
        try await expectUnreachable()
        #expect(server.callCount("Upsert") == 3 + 4)
        // A collection may have been made.
        server.fail("CreateCollection", .loss)
        try await expectUnreachable()
        #expect(server.callCount("CreateCollection") == 3)
    }

    @Test(arguments: [UInt8(8), 49]) func aRateLimitIsWaitedFor(code: UInt8) async throws {
        let server = try await FakeMilvus()
        let folder = try TemporaryFolder()
        let local = try Drawn.index(3, into: folder("catalog"))
        server.fail("Upsert", times: 2, .refusal(code: code, "rate limit exceeded"))
        server.fail("Query", .refusal(code: code, "rate limit exceeded"))
        #expect(try await MilvusCatalog.push(local, to: server.address("limited")).written == 3)
        #expect(server.callCount("Upsert") == 3 && server.callCount("AlterCollection") == 1)
        // One that does not end is an error, and says so.
        server.fail("Upsert", times: 1_000, .refusal(code: code, "rate limit exceeded"))
        await #expect {
            try await MilvusCatalog.push(
                local, to: server.address("limited"), options: MilvusOptions(writeDeadline: .milliseconds(400)))
        } throws: {
            ($0 as? MilvusError)?.reason == .refused(code: Int(code), "rate limit exceeded")
                && ($0 as? MilvusError)?.failure == .unavailable
        }
    }

    @Test func aQuotaThatIsUsedUpEndsAPush() async throws {
        let server = try await FakeMilvus()
        let folder = try TemporaryFolder()
        let local = try Drawn.index(3, into: folder("catalog"))
        let words = "quota exceeded[reason=disk quota exceeded, please allocate more resources]"
        server.fail("Upsert", times: 1_000, .refusal(code: 9, words))
        await #expect {
            try await MilvusCatalog.push(local, to: server.address("full"))
        } throws: {
            ($0 as? MilvusError)?.reason == .refused(code: 9, words) && "\($0)".contains("please allocate")
        }
        #expect(server.callCount("Upsert") == 1 && server.callCount("AlterCollection") == 0)
    }

    @Test(arguments: [
        ("milvus://localhost/albums", "milvus://localhost:19530/albums"),
        ("milvus://10.0.0.1:1/_a9", "milvus://10.0.0.1:1/_a9"),
        ("milvus+tls://[::1]:443/a/", "milvus+tls://[::1]:443/a"),
    ])
    func addressesAreRead(text: String, description: String) throws {
        #expect("\(try MilvusAddress(text))" == description)
    }

    @Test(arguments: [
        "", "milvus://", "milvus://host", "milvus://host/", "milvus://host/9", "milvus://host/a b", "http://host/a",
        "milvus://host:0/a", "milvus://host:99999/a", "milvus://user@host/a", "milvus://host/a/b", "milvus:///a",
    ])
    func otherTextsAreNoAddresses(text: String) {
        #expect(throws: MilvusError(subject: text, reason: .invalidAddress)) { try MilvusAddress(text) }
    }
}
