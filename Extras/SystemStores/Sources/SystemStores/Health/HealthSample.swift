#if SystemStores
public import Foundation

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
#endif
