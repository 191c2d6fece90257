import Foundation

/// The samples of an export, read from its file as they are asked for. O(1) memory.
///
/// It ends with a ``StoreProblem`` where the file does, if that is before its last end tag, and with a
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

        /// Stays where its caller is: an actor that reads millions of samples does not leave for each of them.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> HealthSample? {
            try await reader.next(isolation: actor)
        }
    }
}

/// Reads a file in parts.
final class HealthSampleReader {
    private static let partLength = 256 << 10

    private let file: URL
    private let parser: HealthExportParser
    private let report: (StoreProblem) -> Void
    private var handle: FileHandle?
    private var samples: [HealthSample] = []
    private var index = 0
    private var isAtEnd = false
    /// What ends the file, after the samples before it.
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
            throw StoreProblem(origin: file.path, reason: "cannot be read: \((error as NSError).localizedDescription)")
        }
    }
}
