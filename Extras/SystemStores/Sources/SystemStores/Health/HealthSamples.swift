import Foundation

/// The samples of an export, read from its file as they are asked for. O(1) memory.
///
/// The sequence ends with a ``StoreProblem`` where the file does, if that is before its last end tag, and with a
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
    /// The problem that ends the file, after the samples before it.
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

/// The type of readings, under Health's identifier, such as `HKQuantityTypeIdentifierHeartRate`.
public struct HealthType: RawRepresentable, Sendable, Hashable, Codable, ExpressibleByStringLiteral {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }
    public init(stringLiteral value: String) { self.init(rawValue: value) }

    public static let heartRate: HealthType = "HKQuantityTypeIdentifierHeartRate"
    public static let stepCount: HealthType = "HKQuantityTypeIdentifierStepCount"
    public static let bodyMass: HealthType = "HKQuantityTypeIdentifierBodyMass"
    public static let bloodGlucose: HealthType = "HKQuantityTypeIdentifierBloodGlucose"
    public static let bloodPressureSystolic: HealthType = "HKQuantityTypeIdentifierBloodPressureSystolic"
    public static let bloodPressureDiastolic: HealthType = "HKQuantityTypeIdentifierBloodPressureDiastolic"
    public static let bodyTemperature: HealthType = "HKQuantityTypeIdentifierBodyTemperature"
    public static let oxygenSaturation: HealthType = "HKQuantityTypeIdentifierOxygenSaturation"
    public static let sleepAnalysis: HealthType = "HKCategoryTypeIdentifierSleepAnalysis"
    /// Its value is the duration; the activity is in the metadata under `workoutActivityType`.
    public static let workout: HealthType = "HKWorkoutTypeIdentifier"
}

/// A reading, or another entry of somebody's health records.
public struct HealthSample: Sendable, Hashable, Codable, Identifiable {
    public enum Value: Sendable, Hashable, Codable {
        case quantity(Double, unit: String)
        /// Such as `HKCategoryValueSleepAnalysisAsleepCore`; empty for a type whose samples say nothing but when.
        case category(String)
    }

    /// A digest of type, source, times and value, which an export does not number. Equal readings share one.
    public let id: UInt64
    public let type: HealthType
    public let value: Value
    public let start: Date
    public let end: Date
    /// When it was stored; nil if the export does not say.
    public let created: Date?
    /// The device or app that made it.
    public let source: String
    public let device: String?
    public let metadata: [String: String]

    /// The number; nil for a category.
    public var quantity: Double? {
        guard case .quantity(let number, _) = value else { return nil }
        return number
    }
}
