import Foundation
import FuzzSupport
import Lookalike

/// Decodes JSON of types that people store: what can be read can be written and read again, and is the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzCoding(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    let data = FuzzInput(bytes, count).data
    check(CatalogEntity.self, data)
    check(FeaturePrint.self, data)
    return 0
}

private func check<Value: Codable & Equatable>(_ type: Value.Type, _ data: Data) {
    guard let value = try? JSONDecoder().decode(type, from: data) else { return }
    guard let again = try? JSONDecoder().decode(type, from: JSONEncoder().encode(value)) else {
        preconditionFailure("\(value) cannot be written and read again")
    }
    precondition(again == value, "\(again), not \(value)")
}
