public import Foundation
public import Lookalike
import SwiftProtobuf

/// A catalog that lives in a collection of Milvus, a vector database.
///
/// ```swift
/// let remote = try await MilvusCatalog(MilvusAddress("milvus://localhost:19530/albums"))
/// let catalog = try await RemoteCatalogSearch(remote)
/// let matches = try await catalog.search(matching: photo)
/// ```
///
/// ``push(_:to:settings:options:progress:)`` makes the collection, and ``pull(into:model:progress:)`` makes a catalog
/// in a folder of it again. Any number of processes may search it.
public final class MilvusCatalog: RemoteCatalog {
    public let name: String
    public let models: RemoteModels
    let client: MilvusClient
    let settings: StoredSettings

    /// Milvus's largest number of results of a search.
    private static let mostResults = 16_384
    /// What stands for a point in time in a read that may miss the changes of the last seconds.
    private static let boundedStaleness: UInt64 = 2
    /// Keys per request.
    private static let keysPerRequest = 1_000

    /// Opens a collection that was pushed, and loads it into the server's memory if it is not there.
    ///
    /// - Throws: ``MilvusError``: there is no such collection, it is not of this package, or its push was not finished.
    public convenience init(_ address: MilvusAddress, options: MilvusOptions = MilvusOptions()) async throws {
        let client = try MilvusClient(address, options: options)
        guard let (settings, isComplete) = try await client.storedSettings() else { throw client.error(.missing) }
        guard isComplete else { throw client.error(.incomplete) }
        try await client.load()
        self.init(client, settings)
    }

    init(_ client: MilvusClient, _ settings: StoredSettings) {
        (self.client, self.settings) = (client, settings)
        name = "\(client.address)"
        models = settings.models
    }

    public func counts() async throws -> RemoteCounts {
        async let images = count("\(Field.place.rawValue) >= 0")
        async let entities = count("\(Field.place.rawValue) == 0")
        return try await RemoteCounts(entities: entities, images: images)
    }

    private func count(_ expression: String) async throws -> Int {
        let answer = try await client.read(
            .query,
            MilvusQueryRequest.with {
                ($0.collectionName, $0.expr, $0.outputFields) = (client.address.collection, expression, ["count(*)"])
                $0.consistencyLevel = .bounded
            })
        guard let count = Columns(answer.fieldsData).numbers("count(*)").first else {
            throw client.error(.unexpectedAnswer("a count of rows without a number"))
        }
        return Int(count)
    }

    public func nearest(
        _ count: Int, to prints: [FeaturePrint], in selection: RemoteSelection
    ) async throws -> [Int64: [Float]] {
        guard !prints.isEmpty, count > 0 else { return [:] }
        func search(_ parameters: [String: Int]) async throws -> MilvusSearchResultData {
            try await self.search(
                .print, count: count, in: selection, metric: "L2", parameters: parameters, output: [.print]
            ) {
                $0.type = .floatVectors
                $0.values = prints.map(\.vector).map { vector in
                    vector.map(\.bitPattern.littleEndian).withUnsafeBytes { Data($0) }
                }
            }
        }
        var found = try await search(settings.index.searchParameters(count: count, breadth: client.options.breadth))
        // The lists or neighbors that were looked at may have too few of the rows that a filter allows.
        if found.ids.intID.data.count < count * prints.count, settings.index != .flat {
            found = try await search(settings.index.searchParameters(count: count, breadth: .max))
        }
        let vectors = Columns(found.fieldsData).vectors(.print, count: found.ids.intID.data.count)
        guard vectors.count == found.ids.intID.data.count else {
            throw client.error(.unexpectedAnswer("prints are missing"))
        }
        return Dictionary(zip(found.ids.intID.data, vectors)) { first, _ in first }
    }

    public func prints(of keys: [Int64]) async throws -> [Int64: [Float]] {
        try await rows(keys, [.print]) { columns, keys in Array(zip(keys, columns.vectors(.print, count: keys.count))) }
    }

    public func mostVoted(
        _ count: Int, by words: [VisualWord], in selection: RemoteSelection
    ) async throws -> [Int64] {
        guard let kind = settings.words, !words.isEmpty, count > 0 else { return [] }
        let vector = SparseWords(kind: kind).vector(ofQuery: words)
        return try await search(
            .words, count: count, in: selection, metric: "IP", parameters: [:], output: []
        ) {
            ($0.type, $0.values) = (.sparseFloatVectors, [SparseWords.data(vector)])
        }.ids.intID.data
    }

    public func localFeatures(of keys: [Int64]) async throws -> [Int64: Data] {
        try await data(of: keys, .features, named: "local features are")
    }

    public func thumbnails(of keys: [Int64]) async throws -> [Int64: Data] {
        try await data(of: keys, .thumbnail, named: "thumbnail is")
    }

    /// What a field of bytes has of each row, without those of which it has none.
    private func data(of keys: [Int64], _ field: Field, named name: String) async throws -> [Int64: Data] {
        try await rows(keys, [field]) { [client] columns, keys in
            try zip(keys, columns.texts(field)).filter { !$0.1.isEmpty }.map { key, text in
                guard let data = Data(base64Encoded: text) else {
                    throw client.error(.damaged(key: key, "its \(name) not Base64"))
                }
                return (key, data)
            }
        }
    }

    public func selected(_ keys: [Int64], in selection: RemoteSelection) async throws -> Set<Int64> {
        let filter = try filter.expression(selection)
        return Set(try await rows(keys, [], where: filter) { _, keys in keys.map { ($0, ()) } }.keys)
    }

    public func images(ofEntities rows: [Int64]) async throws -> [Int64] {
        try await inParts(rows) { part in
            try await query("\(Field.entity.rawValue) in \(part)", []).numbers(.key)
        }
    }

    public func entities(for rows: [Int64]) async throws -> [Int64: CatalogEntity] {
        let records = try await inParts(rows) { part in
            let columns = try await query(
                "(\(Field.entity.rawValue) in \(part)) and (\(Field.place.rawValue) == 0)", [.entity, .record])
            return Array(zip(columns.numbers(.entity), columns.texts(.record)))
        }
        return try records.reduce(into: [:]) { entities, record in
            entities[record.0] =
                try StoredRecord(record.1)?.entity
                ?? {
                    throw client.error(.damaged(key: record.0, "its record cannot be read"))
                }()
        }
    }

    // MARK: Requests

    var filter: MilvusFilter { MilvusFilter(isPartitioned: settings.isPartitionedByType, error: client.error) }

    private func search(
        _ field: Field, count: Int, in selection: RemoteSelection, metric: String, parameters: [String: Int],
        output: [Field], _ fill: (inout MilvusPlaceholderValue) -> Void
    ) async throws -> MilvusSearchResultData {
        guard count <= Self.mostResults else { throw client.error(.tooManyResults(Self.mostResults)) }
        let filter = try filter.expression(selection)
        var placeholder = MilvusPlaceholderValue.with { $0.tag = "$0" }
        fill(&placeholder)
        let group = MilvusPlaceholderGroup.with { $0.placeholders = [placeholder] }
        let data = try group.serializedData()
        let answer = try await client.read(
            .search,
            MilvusSearchRequest.with {
                ($0.collectionName, $0.dsl, $0.dslType) = (client.address.collection, filter, 1)
                ($0.placeholderGroup, $0.nq) = (data, Int64(placeholder.values.count))
                $0.outputFields = output.map(\.rawValue)
                $0.searchParams = [
                    .of("anns_field", field.rawValue), .of("topk", "\(count)"), .of("metric_type", metric),
                    .of("params", JSON.text(parameters)), .of("round_decimal", "-1"),
                ]
                $0.consistencyLevel = .bounded
                // Milvus 2.3 fetches prints in a second step, which waits 200 ms for the newest state without this.
                $0.guaranteeTimestamp = Self.boundedStaleness
            })
        return answer.results
    }

    func query(
        _ expression: String, _ fields: [Field], consistency: MilvusConsistencyLevel = .bounded,
        parameters: KeyValuePairs<String, String> = [:]
    ) async throws -> Columns {
        try await client.query(expression, fields, consistency: consistency, parameters: parameters)
    }

    /// What `value` makes of the columns of the rows with these keys.
    private func rows<Value: Sendable>(
        _ keys: [Int64], _ fields: [Field], where filter: String = "",
        _ value: @Sendable (Columns, [Int64]) throws -> [(Int64, Value)]
    ) async throws -> [Int64: Value] {
        let found = try await inParts(keys) { part in
            let isKey = "(\(Field.key.rawValue) in \(part))"
            let columns = try await query(filter.isEmpty ? isKey : "\(isKey) and \(filter)", fields)
            return try value(columns, columns.numbers(.key))
        }
        return Dictionary(found) { first, _ in first }
    }

    private func inParts<Value>(
        _ keys: [Int64], _ body: ([Int64]) async throws -> [Value]
    ) async throws -> [Value] {
        var values: [Value] = []
        for start in stride(from: 0, to: keys.count, by: Self.keysPerRequest) {
            values += try await body(Array(keys[start..<min(start + Self.keysPerRequest, keys.count)]))
        }
        return values
    }
}

extension MilvusClient {
    /// Reads columns of the rows that satisfy an expression; their keys always.
    func query(
        _ expression: String, _ fields: [Field], consistency: MilvusConsistencyLevel,
        parameters: KeyValuePairs<String, String> = [:]
    ) async throws -> Columns {
        let answer = try await read(
            .query,
            MilvusQueryRequest.with {
                ($0.collectionName, $0.expr) = (address.collection, expression)
                $0.outputFields = ([.key] + fields).map(\.rawValue)
                $0.queryParams = parameters.map(MilvusKeyValue.of)
                $0.consistencyLevel = consistency
            })
        return Columns(answer.fieldsData)
    }
}

/// How Milvus finds the nearest prints.
public enum MilvusIndex: Sendable, Hashable, Codable {
    /// All prints are compared: the same answers as those of a catalog in a folder.
    case flat
    /// Prints in lists around centroids, of which the nearest are searched.
    case ivf(lists: Int, searched: Int)
    /// A graph of neighbors.
    case hnsw(neighbors: Int, construction: Int, search: Int)
    /// A graph of neighbors on disk; the server needs to be set up for it.
    case diskANN(search: Int)

    /// IVF with usual parameters.
    public static let ivf = MilvusIndex.ivf(lists: 1024, searched: 32)
    /// HNSW with usual parameters.
    public static let hnsw = MilvusIndex.hnsw(neighbors: 16, construction: 200, search: 128)
    /// DiskANN with usual parameters.
    public static let diskANN = MilvusIndex.diskANN(search: 128)

    var parameters: [(String, String)] {
        let (type, parameters): (String, [String: Int]) =
            switch self {
            case .flat: ("FLAT", [:])
            case .ivf(let lists, _): ("IVF_FLAT", ["nlist": lists])
            case .hnsw(let neighbors, let construction, _):
                ("HNSW", ["M": neighbors, "efConstruction": construction])
            case .diskANN: ("DISKANN", [:])
            }
        return [("index_type", type), ("metric_type", "L2"), ("params", JSON.text(parameters))]
    }

    /// Milvus refuses more.
    private static let mostNeighbors = 32_768

    /// - Parameter breadth: the lists or neighbors to look at; nil for as many as the index says.
    func searchParameters(count: Int, breadth: Int?) -> [String: Int] {
        switch self {
        case .flat: [:]
        case .ivf(let lists, let searched): ["nprobe": min(breadth ?? searched, lists)]
        // Milvus refuses fewer than are asked for.
        case .hnsw(_, _, let search): ["ef": max(min(breadth ?? search, Self.mostNeighbors), count)]
        case .diskANN(let search): ["search_list": max(min(breadth ?? search, Self.mostNeighbors), count)]
        }
    }
}

/// What a collection says of itself, in a property.
struct StoredSettings: Codable, Equatable {
    /// That of the rows; another one is not read.
    static let currentFormat = 2

    var format = currentFormat
    var prints: ModelIdentity
    var localFeatures: String?
    var dimension: Int
    var index: MilvusIndex
    /// Nil in a collection without sparse vectors.
    var words: SparseWords.Kind?
    /// Whether rows have a type, which Milvus partitions them by.
    var isPartitionedByType: Bool

    var models: RemoteModels { RemoteModels(prints: prints, localFeatures: localFeatures) }
}

/// What a row has of its image, and the first of an entity of that.
struct StoredRecord: Codable {
    var entity: CatalogEntity?
    var file: CatalogRecord.Image.File
    /// SHA-256 of the image's file, Base64.
    var contentHash: Data
    var thumbnailSide: Int?

    /// Nil for another text.
    init?(_ json: String) {
        guard let record = try? JSONDecoder().decode(Self.self, from: Data(json.utf8)) else { return nil }
        self = record
    }

    init(entity: CatalogEntity?, image: CatalogRecord.Image, thumbnailSide: Int?) {
        (self.entity, file, contentHash) = (entity, image.file, image.contentHash)
        self.thumbnailSide = thumbnailSide
    }
}

enum JSON {
    static func text(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Dictionaries, strings and numbers can be encoded.
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}

extension MilvusClient {
    private enum Property { static let (settings, state, complete) = ("lookalike", "lookalike.state", "complete") }

    /// What the collection says of itself, and whether its push was finished; nil without a collection.
    ///
    /// - Throws: ``MilvusError`` with the reason `otherSchema` for a collection of something else.
    func storedSettings() async throws -> (settings: StoredSettings, isComplete: Bool)? {
        let known = try await read(
            .hasCollection, MilvusHasCollectionRequest.with { $0.collectionName = address.collection })
        guard known.value else { return nil }
        let described = try await read(
            .describeCollection, MilvusDescribeCollectionRequest.with { $0.collectionName = address.collection })
        let properties = Dictionary(described.properties.map { ($0.key, $0.value) }) { $1 }
        guard let text = properties[Property.settings],
            let settings = try? JSONDecoder().decode(StoredSettings.self, from: Data(text.utf8)),
            settings.format == StoredSettings.currentFormat
        else { throw error(.otherSchema) }
        return (settings, properties[Property.state] == Property.complete)
    }

    /// Makes the collection and its indexes.
    func create(_ settings: StoredSettings) async throws {
        func text(_ length: Int) -> KeyValuePairs<String, String> { ["max_length": "\(length)"] }
        let fields: [MilvusFieldSchema] =
            [
                .of(.key, .int64), .of(.entity, .int64), .of(.place, .int64), .of(.digest, .varchar, text(64)),
                .of(.fields, .json), .of(.record, .varchar, text(Field.longestText)),
                .of(.features, .varchar, text(Field.longestText)), .of(.thumbnail, .varchar, text(Field.longestText)),
                .of(.print, .floatVector, ["dim": "\(settings.dimension)"]),
            ] + (settings.words == nil ? [] : [.of(.words, .sparseFloatVector)])
            + (settings.isPartitionedByType ? [.of(.type, .varchar, text(Field.longestText))] : [])
        let schema = MilvusCollectionSchema.with {
            $0.name = address.collection
            $0.description_p = "A catalog of Lookalike: an image per row."
            $0.fields = fields
        }
        let data = try schema.serializedData()
        try await write(
            .createCollection,
            MilvusCreateCollectionRequest.with {
                ($0.collectionName, $0.schema, $0.shardsNum) = (address.collection, data, 1)
                $0.consistencyLevel = .bounded
                $0.properties = [.of(Property.settings, JSON.text(settings))]
            })
        try await createIndex(.print, settings.index.parameters)
        if settings.words != nil {
            try await createIndex(
                .words, [("index_type", "SPARSE_INVERTED_INDEX"), ("metric_type", "IP"), ("params", "{}")])
        }
    }

    private func createIndex(_ field: Field, _ parameters: [(String, String)]) async throws {
        try await write(
            .createIndex,
            MilvusCreateIndexRequest.with {
                ($0.collectionName, $0.fieldName) = (address.collection, field.rawValue)
                $0.indexName = "\(field.rawValue)_index"
                $0.extraParams = parameters.map(MilvusKeyValue.of)
            })
    }

    func markComplete() async throws {
        try await write(
            .alterCollection,
            MilvusAlterCollectionRequest.with {
                $0.collectionName = address.collection
                $0.properties = [.of(Property.state, Property.complete)]
            })
    }
}
