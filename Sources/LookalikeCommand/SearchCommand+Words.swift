import ArgumentParser
import CommandProcess
import Foundation
import Lookalike

extension SearchCommand {
    /// What is about images alone does not go with words.
    func validateWords() throws {
        guard let words else {
            if wordsWeight != nil { throw ValidationError("--words-weight needs --words.") }
            return
        }
        if words.allSatisfy(\.isWhitespace) { throw ValidationError("--words is empty.") }
        if wordsWeight != nil, images.isEmpty {
            throw ValidationError("--words-weight is about words beside an image.")
        }
        if let wordsWeight, !(0...1).contains(wordsWeight) {
            throw ValidationError("--words-weight must be between 0 and 1.")
        }
        var others = [
            ("--min-confidence", bounds.minConfidence != nil), ("--max-objects", maxObjects != nil),
            ("--effort", effort.effort != .standard), ("--crops", crops.crops != nil), ("--within", within != nil),
            ("--code", !codes.isEmpty), ("--text", !texts.isEmpty), ("--similar", similar > 0),
            ("--sheet", sheet != nil),
        ]
        #if Barcodes
        others.append(("--barcodes", barcodes))
        #endif
        #if TextRecognition
        others.append(("--read-text", readText))
        #endif
        if let (name, _) = others.first(where: \.1) {
            throw ValidationError("\(name) does not go with --words, whose ranking is that of the distances alone.")
        }
    }

    /// Ranks by words, and by each image beside them if there are images.
    func search(describedBy words: String, in catalog: Catalog) async throws {
        let timings = timing.makeTimings()
        let options = SearchOptions(
            limit: limit ?? 10, bounds: bounds.bounds, condition: selection.condition, recall: effort.recall,
            timings: timings)
        var failures = 0
        for argument in images.isEmpty ? AnySequence([nil]) : AnySequence(try images.paths().lazy.map { $0 }) {
            var image: PixelBuffer?
            if let argument {
                image = QueryImage.readOrReport(
                    argument, options: catalog.model.decodingOptions, timings: timings, failures: &failures)
                if image == nil { continue }
            }
            let name = argument ?? words
            let query = try await catalog.query(
                describedBy: words, beside: image, weight: wordsWeight ?? 0.5, options: options)
            let (matches, _, duplicates) = try await catalog.matches(
                of: query, options: options, areFolded: groupDuplicates)
            if json {
                print(try SearchAnswer(query: name, image: image, matches: matches, duplicates: duplicates).line)
            } else {
                print(name.escaped)
                if matches.isEmpty { print("      no entity") }
                printMatches(
                    matches, duplicates: duplicates ?? [:],
                    areSimilar: image != nil || catalog.model.probability(ofDistance: 0) == nil)
            }
        }
        timings?.printReport()
        if failures > 0 { throw ExitCode.someFailed }
    }
}
