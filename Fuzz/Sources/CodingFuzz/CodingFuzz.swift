import Foundation
import FuzzSupport
import Lookalike
import VisualSearch

/// Decodes JSON of types that people store: what can be read can be written and read again, and is the same.
///
/// The first byte chooses the type.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzCoding(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    guard let (check, data) = FuzzInput(bytes, count).choice(of: checks) else { return -1 }
    check(data)
    return 0
}

/// The order is part of the format of inputs.
private let checks: [@Sendable (Data) -> Void] = [
    { check(CatalogEntity.self, $0) }, { check(FeaturePrint.self, $0) }, { check(SearchQuery.self, $0) },
    { check(Condition.self, $0) }, { check(MatchBounds.self, $0) }, { check(SearchCursor.self, $0) },
    { check(Facet.self, $0) },
]

private func check<Value: Codable & Equatable>(_ type: Value.Type, _ data: Data) {
    guard let value = try? JSONDecoder().decode(type, from: data) else { return }
    guard let again = try? JSONDecoder().decode(type, from: JSONEncoder().encode(value)) else {
        preconditionFailure("\(value) cannot be written and read again")
    }
    precondition(again == value, "\(again), not \(value)")
}
