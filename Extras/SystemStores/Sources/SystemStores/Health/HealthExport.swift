#if SystemStores
public import Foundation

/// The readings of Apple's Health app out of its export: `export.xml`, or the folder that has it.
///
/// An export has years of readings and may have gigabytes; it is read in parts, at some 50 MB a second on one core and
/// with as much memory for a long one as for a short one. Health writes a new one each time: ``changes()`` tells when,
/// and ``changes(since:)`` what is new in it.
///
/// ```swift
/// let health = HealthExport(URL(fileURLWithPath: "apple_health_export"))
/// let week = DateInterval(start: monday, duration: 7 * 86_400)
/// for try await sample in health.samples(of: [.heartRate], in: week) { print(sample.start, sample.quantity ?? 0) }
/// for day in try await health.statistics(of: .stepCount, in: week, every: .day).items { print(day.sum) }
/// ```
///
/// What was deleted in Health is missing in the next export. Only what an export has is read: entitlements, permissions
/// and writing have no counterparts here.
public struct HealthExport: DatedStore {
    public typealias Item = HealthSample

    /// `export.xml`.
    public let file: URL

    /// - Parameter url: the file, or the folder that has it under the name `export.xml`.
    public init(_ url: URL) {
        file = url.pathExtension.lowercased() == "xml" ? url : url.appendingPathComponent("export.xml")
    }

    /// The samples of some types that overlap a span of time, in the order of the export.
    ///
    /// - Parameters:
    ///   - types: nil for all.
    ///   - span: nil for all times.
    ///   - source: nil for all sources.
    ///   - report: called at the end with the records that cannot be read, which are left out.
    public func samples(
        of types: Set<HealthType>? = nil, in span: DateInterval? = nil, source: String? = nil,
        report: @escaping @Sendable (StoreProblem) -> Void = { _ in }
    ) -> HealthSamples {
        HealthSamples(
            file: file, selection: HealthSelection(types: types, span: span, source: source), report: report)
    }

    /// The samples of all types that overlap a span of time, by their start. O(samples) memory.
    ///
    /// - Returns: also what was read of a truncated file, with that among the problems.
    /// - Throws: `CancellationError`.
    public func items(in span: DateInterval) async throws -> StoreContents<HealthSample> {
        try await items(of: nil, in: span)
    }

    /// The samples of some types that overlap a span of time, by their start. O(samples) memory.
    public func items(of types: Set<HealthType>?, in span: DateInterval) async throws -> StoreContents<HealthSample> {
        var contents = StoreContents<HealthSample>(items: [])
        contents.problems = try await forEach(HealthSelection(types: types, span: span)) { contents.items.append($0) }
        contents.items.sort { ($0.start, $0.end, $0.id) < ($1.start, $1.end, $1.id) }
        return contents
    }

    public func changes() throws -> AsyncStream<Void> {
        try FolderChanges.stream(of: file.deletingLastPathComponent())
    }

    /// - Returns: the records that cannot be read, and what ends the file too early.
    func forEach(
        _ selection: HealthSelection, _ body: (HealthSample) throws -> Void
    ) async throws -> [StoreProblem] {
        let problems = ProblemList()
        let reader = HealthSampleReader(file: file, selection: selection) { problems.list.append($0) }
        do {
            while let sample = try await reader.next() { try body(sample) }
        } catch let problem as StoreProblem {
            problems.list.append(problem)
        }
        return problems.list
    }
}

private final class ProblemList {
    var list: [StoreProblem] = []
}

/// The samples of an export, read from its file as they are asked for. O(1) memory.
///
/// The sequence throws a ``StoreProblem`` where the file ends, if that is before its last end tag, and
/// `CancellationError`.
public struct HealthSamples: AsyncSequence, Sendable {
    public typealias Element = HealthSample

    let file: URL
    let selection: HealthSelection
    let report: @Sendable (StoreProblem) -> Void

    public func makeAsyncIterator() -> Iterator { Iterator(file: file, selection: selection, report: report) }

    public struct Iterator: AsyncIteratorProtocol {
        private let reader: HealthSampleReader

        init(file: URL, selection: HealthSelection, report: @escaping @Sendable (StoreProblem) -> Void) {
            reader = HealthSampleReader(file: file, selection: selection, report: report)
        }

        public mutating func next() async throws -> HealthSample? { try await next(isolation: nil) }

        /// The next sample. Stays where its caller is: an actor that reads millions of samples does not leave for each
        /// of them.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> HealthSample? {
            try await reader.next(isolation: actor)
        }
    }
}

/// Reads the samples of a file in parts.
final class HealthSampleReader {
    private static let partLength = 256 << 10

    private let file: URL
    private let parser: HealthExportParser
    private let report: (StoreProblem) -> Void
    private var handle: FileHandle?
    private var samples: [HealthSample] = []
    private var index = 0
    private var isAtEnd = false
    /// The problem that ends the file, thrown after the samples before it.
    private var failure: StoreProblem?

    init(file: URL, selection: HealthSelection, report: @escaping (StoreProblem) -> Void) {
        self.file = file
        self.report = report
        parser = HealthExportParser(path: file.path, selection: selection)
    }

    /// The next sample. Other tasks have their turn between the parts of the file.
    func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> HealthSample? {
        while index == samples.count {
            guard !isAtEnd else {
                defer { failure = nil }
                if let failure { throw failure }
                return nil
            }
            await Task.yield()
            try Task.checkCancellation()
            index = 0
            try readPart()
        }
        defer { index += 1 }
        return samples[index]
    }

    private func readPart() throws {
        do throws(StoreProblem) {
            let data = try part()
            if data.isEmpty {
                isAtEnd = true
                try parser.finish()
            } else {
                try parser.read(data)
            }
        } catch {
            isAtEnd = true
            failure = error
        }
        samples = parser.takeSamples()
        if isAtEnd {
            try? handle?.close()
            parser.problems.all.forEach(report)
        }
    }

    private func part() throws(StoreProblem) -> Data {
        do {
            let handle = try self.handle ?? FileHandle(forReadingFrom: file)
            self.handle = handle
            return try handle.read(upToCount: Self.partLength) ?? Data()
        } catch {
            throw StoreProblem(subject: file.path, reason: "cannot be read: \((error as NSError).localizedDescription)")
        }
    }
}
#endif
