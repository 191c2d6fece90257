public import CatalogEntities
public import Compute
public import FeaturePrints
import Foundation
import VectorSearch

/// How a catalog is searched: how many matches are wanted, of which entities, and how much work they are worth.
///
/// ```swift
/// var options = SearchOptions(limit: 20, condition: .isAnyOf(.type, ["album"]))
/// let first = try await catalog.search(query, options: options)
/// options.cursor = first.last.map(SearchCursor.init(after:))
/// let second = try await catalog.search(query, options: options)
/// ```
public struct SearchOptions: Sendable {
    /// The maximum number of matches.
    public var limit: Int
    /// Which entities count as matches; by default those with a confidence of ½ and more.
    public var bounds: MatchBounds
    /// The entities to search.
    public var condition: Condition
    /// Returns only what follows this place in the ranking: the next page.
    public var cursor: SearchCursor?
    /// Quality for time, when an image is analyzed.
    public var effort: SearchEffort
    /// The crops of an image to embed, one forward pass per crop; those of the effort if nil.
    public var crops: QueryCrops?
    /// The maximum number of objects to find in an image; the surest are kept. Entities with the same picture at the
    /// same place are one object.
    public var maxObjects: Int
    /// The share of the nearest prints to find in a catalog with an inverted file (``PrintIndexKind``); 1 for all,
    /// which compares every print.
    public var recall: Double
    /// What was read from the image: the numbers of barcodes, the texts of QR codes. Entities that have one of them in
    /// an attribute such as `gtin`, `EAN`, `upc`, `isbn_13` or `barcode` are matches with a confidence of 0.99 at
    /// least. Numbers of products and books are found in whatever form either side is written (``ProductCode``).
    public var codes: [String]
    /// Lines of text that were read from the image. An entity whose title they have is a match if the title's words are
    /// rare enough in the catalog, and so is one that has a value with digits as an attribute, such as a number of an
    /// edition; with a confidence of 0.9 at most by the text alone. Entities that the same words name share it. Texts
    /// add to what the picture shows, and remove nothing. A ``RemoteCatalog`` ignores them.
    public var texts: [String]
    /// The time that the analysis of an image may take; as long as it takes if nil.
    public var budget: TimeBudget?
    /// Receives the time of each stage.
    public var timings: StageTimings?

    /// More objects than most images show: the time of a search depends on those that it does show.
    public static let defaultMaxObjects = 100

    /// The recall without another one: 0.99.
    public static var defaultRecall: Double { InvertedFileIndex.defaultRecall }

    /// Options; each has a default.
    public init(
        limit: Int = 10, bounds: MatchBounds = .accepted, condition: Condition = .everything,
        after cursor: SearchCursor? = nil, effort: SearchEffort = .standard, crops: QueryCrops? = nil,
        maxObjects: Int = SearchOptions.defaultMaxObjects, recall: Double = SearchOptions.defaultRecall,
        codes: [String] = [], texts: [String] = [], budget: TimeBudget? = nil, timings: StageTimings? = nil
    ) {
        self.limit = limit
        self.bounds = bounds
        self.condition = condition
        self.cursor = cursor
        self.effort = effort
        self.crops = crops
        self.maxObjects = maxObjects
        self.recall = recall
        self.codes = codes
        self.texts = texts
        self.budget = budget
        self.timings = timings
    }
}

/// A time by which a search is to answer with the best that it has found.
///
/// A search embeds the image and finds the nearest prints in any case. What follows is done while there is time: the
/// verification by local features, more crops, finer keypoints, tiles, a mirrored query, dense descriptors, and
/// rectified crops. A step that has begun is finished, so an answer may come later by the time of one.
/// ``CatalogQuery/isComplete`` says whether any was left out.
///
/// ```swift
/// let query = try await catalog.query(for: photo, options: SearchOptions(budget: TimeBudget(.milliseconds(100))))
/// let matches = try await catalog.search(query)
/// if !query.isComplete { searchAgainInTheBackground() }
/// ```
public struct TimeBudget: Sendable {
    private let hasPassed: @Sendable () -> Bool

    /// A time that begins now.
    ///
    /// - Parameter clock: measures it.
    public init<C: Clock>(_ duration: Duration, clock: C = ContinuousClock()) where C.Duration == Duration {
        let end = clock.now.advanced(by: duration)
        hasPassed = { clock.now >= end }
    }

    /// Whether the time has passed.
    public var isSpent: Bool { hasPassed() }
}

extension Duration {
    /// A time as the command and the service take it, such as `100ms` or `1.5s`; nil for another text.
    package init?(searchTime text: String) {
        guard let found = text.wholeMatch(of: /([0-9]{1,7}(?:\.[0-9]{1,6})?)(ms|s)/), let number = Double(found.1)
        else { return nil }
        self = found.2 == "ms" ? .milliseconds(number) : .seconds(number)
    }
}

/// Options that no search can have, such as a confidence of 90 for 90 %.
public struct SearchOptionsError: DescribedError, Equatable {
    /// The option.
    public let subject: String
    /// What is wrong with its value.
    public let reason: String

    public var description: String { "\(subject): \(reason)" }
}

extension SearchOptions {
    /// - Throws: ``SearchOptionsError`` for a share or a probability outside 0...1, and for what is no number.
    func check() throws(SearchOptionsError) {
        try bounds.check()
        guard (0...1).contains(recall) else {
            throw SearchOptionsError(subject: "recall", reason: "\(recall) is not in 0...1")
        }
    }
}

/// How much work an image search does: a trade of time for recall.
public enum SearchEffort: String, Sendable, Hashable, Codable, CaseIterable {
    /// Compares prints alone: that of the image, and where it is not sure those of three crops. Fast, and enough for
    /// images that are shown upright and alone.
    case prints
    /// Verifies the best candidates by their local features. Embeds more crops and extracts finer keypoints of a query
    /// that shows several things, or in which nothing is found at first.
    case standard
}

/// Which entities of a ranking are matches.
public struct MatchBounds: Sendable, Hashable, Codable {
    /// The least confidence, 0...1; 0 for any.
    public var minConfidence: Double
    /// The maximum distance of the prints.
    public var maxDistance: DistanceLimit

    /// Bounds that both have to hold; none by default.
    public init(minConfidence: Double = 0, maxDistance: DistanceLimit = .unlimited) {
        self.minConfidence = minConfidence
        self.maxDistance = maxDistance
    }

    /// The default decision: at least as likely right as wrong.
    public static let accepted = MatchBounds(minConfidence: 0.5)
    /// No bounds: all entities, best first.
    public static let none = MatchBounds()

    /// - Throws: ``SearchOptionsError`` for bounds that are no confidence or no distance: nothing would be within them.
    func check() throws(SearchOptionsError) {
        guard (0...1).contains(minConfidence) else {
            throw SearchOptionsError(subject: "minConfidence", reason: "\(minConfidence) is not in 0...1")
        }
        if case .atMost(let distance) = maxDistance, !(distance >= 0) {
            throw SearchOptionsError(subject: "maxDistance", reason: "\(distance) is no distance")
        }
    }
}

/// The maximum distance of the prints at which an entity is a match.
public enum DistanceLimit: Sendable, Hashable {
    /// The match threshold of the query, which score normalization sets; any distance if the model has no threshold.
    case recommended
    /// Any distance.
    case unlimited
    /// This distance, 0...2.
    case atMost(Double)

    /// The limit as a distance, 0...2.
    ///
    /// - Parameter threshold: the match threshold of the query; nil for a model without one.
    public func distance(threshold: Double?) -> Double {
        switch self {
        case .recommended: threshold ?? Self.largest
        case .unlimited: Self.largest
        case .atMost(let distance): min(max(distance, 0), Self.largest)
        }
    }

    /// Unit vectors are at most this far apart.
    static let largest = 2.0
}

extension DistanceLimit: ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral {
    /// A distance, 0...2.
    public init(floatLiteral value: Double) { self = .atMost(value) }
    /// A distance, 0...2.
    public init(integerLiteral value: Int) { self = .atMost(Double(value)) }
}

/// Coded as `"recommended"`, `"unlimited"` or a number.
extension DistanceLimit: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let distance = try? container.decode(Double.self) {
            self = .atMost(distance)
            return
        }
        switch try container.decode(String.self) {
        case "recommended": self = .recommended
        case "unlimited": self = .unlimited
        case let other:
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "“\(other)” is not a limit: “recommended”, “unlimited” or a distance")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .recommended: try container.encode("recommended")
        case .unlimited: try container.encode("unlimited")
        case .atMost(let distance): try container.encode(distance)
        }
    }
}
