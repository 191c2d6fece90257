#if canImport(HealthKit)
import HealthKit
#else
import Foundation
import SystemStores
#endif

/// The user's heart rate while music plays, in beats per minute.
public actor HeartRates {
    #if canImport(HealthKit)
    private let store = HKHealthStore()
    private var anchor: HKQueryAnchor?

    public init() {}
    #else
    private let store: HealthExport
    private var anchor: HealthAnchor?

    public init(_ store: HealthExport) { self.store = store }
    #endif

    /// The readings since the last call. The first call returns no readings on Linux, and all of them on Apple's
    /// platforms.
    public func new() async throws -> [Double] {
        #if canImport(HealthKit)
        let type = HKQuantityType(.heartRate)
        try await store.requestAuthorization(toShare: [], read: [type])
        let query = HKAnchoredObjectQueryDescriptor(predicates: [.quantitySample(type: type)], anchor: anchor)
        let result = try await query.result(for: store)
        anchor = result.newAnchor
        return result.addedSamples.map { $0.quantity.doubleValue(for: .count().unitDivided(by: .minute())) }
        #else
        guard let anchor else {
            self.anchor = try await store.anchor(of: [.heartRate])
            return []
        }
        let changes = try await store.changes(since: anchor)
        self.anchor = changes.anchor
        return changes.added.compactMap(\.quantity)
        #endif
    }

    /// The average of each of the last days that have readings, the earliest first.
    public func averages(days: Int, until end: Date = .now) async throws -> [Double] {
        let span = DateInterval(start: end.addingTimeInterval(-86_400 * Double(days)), end: end)
        #if canImport(HealthKit)
        let query = HKStatisticsCollectionQueryDescriptor(
            predicate: .quantitySample(
                type: HKQuantityType(.heartRate),
                predicate: HKQuery.predicateForSamples(withStart: span.start, end: span.end)),
            options: .discreteAverage, anchorDate: Calendar.current.startOfDay(for: span.start),
            intervalComponents: DateComponents(day: 1))
        return try await query.result(for: store).statistics().compactMap {
            $0.averageQuantity()?.doubleValue(for: .count().unitDivided(by: .minute()))
        }
        #else
        return try await store.statistics(of: .heartRate, in: span, every: .day).items.compactMap(\.average)
        #endif
    }
}
