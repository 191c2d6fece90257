import Catalogs
import DefaultModel
import FeaturePrints
import Foundation
import TestSupport
import Testing

/// Numbers and dates that are written in several ways are the same value, unless quotes ask for the text.
struct EqualValueTests {
    private static let texts = [
        "9.90", "9.9", "9,9", "1998", "1998.0", "1998-05-01", "1998-05-01T08:30Z", "1998-05-01T10:30+02:00",
        "1998-05-01T23:30-02:00", "1998-05-02", "007", "7", "7.0", "12345678901234567", "12345678901234568", "lp",
    ]

    @Test(arguments: [
        ("9.9", ["9.90", "9.9"]), ("9.900", ["9.90", "9.9"]), ("'9.9'", ["9.9"]), ("\"9.90\"", ["9.90"]),
        (
            "1998",
            [
                "1998", "1998.0", "1998-05-01", "1998-05-01T08:30Z", "1998-05-01T10:30+02:00",
                "1998-05-01T23:30-02:00", "1998-05-02",
            ]
        ),
        ("'1998'", ["1998"]),
        ("1998-05-01", ["1998-05-01", "1998-05-01T08:30Z", "1998-05-01T10:30+02:00"]),
        ("1998-05-01T08:30", ["1998-05-01T08:30Z", "1998-05-01T10:30+02:00"]),
        ("1998-05-01T10:30+02:00", ["1998-05-01T08:30Z", "1998-05-01T10:30+02:00"]),
        ("'1998-05-01'", ["1998-05-01"]), ("007", ["007"]), ("7", ["007", "7", "7.0"]),
        ("12345678901234567", ["12345678901234567"]), ("LP", ["lp"]), ("0", []),
    ])
    func equalityIsOfValues(value: String, expected: [String]) async throws {
        let folder = try TemporaryFolder()
        let model = try FeaturePrintModel.default()
        let print = FeaturePrint(vector: [1] + [Float](repeating: 0, count: model.dimension - 1), model: model.identity)
        let items = Self.texts.enumerated().map { index, text in
            IndexItem(CatalogEntity(id: "\(index)", attributes: ["value": text]), image: .print(print))
        }
        try CatalogIndexer(at: folder.file("catalog"), localFeatures: false).index(items)
        let catalog = try Catalog(at: folder.file("catalog"))
        func found(_ condition: String) async throws -> [String] {
            try await catalog.entities(where: Condition(parsing: condition)).entities
                .compactMap { $0.attributes["value"] }
        }
        #expect(try await found("value = \(value)") == expected)
        #expect(try await found("value in (x, \(value))") == expected)
        #expect(try await found("value != \(value)") == Self.texts.filter { !expected.contains($0) })
    }
}
