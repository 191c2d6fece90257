import Catalogs
import FeaturePrints
import Foundation
import Imaging
import Inference
import Testing

/// What programs show that know errors by Foundation alone.
struct ErrorTextTests {
    @Test func localizedDescriptionsSayWhatDescriptionsSay() {
        let errors: [any Error & CustomStringConvertible] = [
            CatalogError(subject: "catalog", reason: .missing), IndexProblem(subject: "a.jpg", reason: "is empty"),
            ImageError(subject: "a.jpg", reason: .empty), ModelError(subject: "m", reason: .unreadable("gone")),
            PixelBufferError.emptyShape(width: 0, height: 1), FeaturePrintError.wrongDimension(3, expected: 128),
        ]
        for error in errors {
            #expect((error as any Error).localizedDescription == error.description)
            #expect((error as NSError).localizedDescription == error.description)
        }
        #expect(throws: Condition.SyntaxError.self) { try Condition(parsing: "(") }
        do { _ = try Condition(parsing: "(") } catch { #expect(error.localizedDescription == "\(error)") }
    }
}
