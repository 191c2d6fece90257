import DefaultModel
import FeaturePrints
import Foundation
import Testing

struct FeaturePrintCodingTests {
    @Test func aPrintReadsBackBitByBit() throws {
        let model = ModelIdentity(name: "a", digest: "00ff")
        let print = FeaturePrint(vector: [0.1, -0.5, 0x1p-24, -0], model: model)
        let copy = try JSONDecoder().decode(FeaturePrint.self, from: JSONEncoder().encode(print))
        #expect(copy.vector.map(\.bitPattern) == print.vector.map(\.bitPattern) && copy.model.name == "a")
        #expect(copy.model == model)
    }

    @Test func componentsAreRoundedToHalfPrecisionOnce() {
        let model = ModelIdentity(name: "a", digest: "00ff")
        // A tie goes to the even neighbor.
        let vector: [Float] = [0.5 + 0x1p-12, 0.5 + 0x3p-12, -0.25 - 0x1p-14, 0x1.8p-25, .leastNonzeroMagnitude]
        let print = FeaturePrint(vector: vector, model: model)
        #expect(print.vector == [0.5, 0.5 + 0x1p-10, -0.25, 0x1p-24, 0])
        #expect(FeaturePrint(vector: print.vector, model: model) == print)
    }

    /// Half a number, NaN, infinity.
    @Test(arguments: ["", "AA==", "AH4=", "AHw="]) func whatIsNoPrintIsRefused(vector: String) {
        let json = #"{"model":{"name":"a","digest":"00"},"vector":"\#(vector)"}"#
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(FeaturePrint.self, from: Data(json.utf8)) }
    }
}

struct DefaultModelFileTests {
    private struct Folders {
        let root: URL
        let program: URL
        let checkout: URL

        init() throws {
            root = FileManager.default.temporaryDirectory.appendingPathComponent("places-\(UUID().uuidString)")
            program = root.appendingPathComponent("bin")
            checkout = root.appendingPathComponent("checkout")
            for url in [program, checkout] {
                try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            }
        }

        @discardableResult
        func put(_ path: String) throws -> String {
            let url = root.appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data("x".utf8).write(to: url)
            return url.path
        }

        func find(_ file: DefaultModelFile, _ variable: String? = nil) throws -> String {
            try file.find(
                environment: variable.map { ["LOOKALIKE_MODEL": $0] } ?? [:], folders: [program], checkout: checkout
            ).path
        }
    }

    @Test func theNearestPlaceIsTaken() throws {
        let folders = try Folders()
        defer { try? FileManager.default.removeItem(at: folders.root) }
        let name = DefaultModelFile.prints.rawValue
        // Each place comes before those that were filled before it.
        for path in ["checkout", "share/lookalike", "bin", "bin/lookalike_DefaultModel.resources"] {
            let expected = try folders.put("\(path)/\(name)")
            #expect(try folders.find(.prints) == expected)
        }
        let own = try folders.put("own/network.safetensors")
        #expect(try folders.find(.prints, own) == own)
        let named = try folders.put("own/\(name)")
        #expect(try folders.find(.prints, folders.root.appendingPathComponent("own").path) == named)
    }

    @Test func localFeaturesAreBesideAModelFileOrElsewhere() throws {
        let folders = try Folders()
        defer { try? FileManager.default.removeItem(at: folders.root) }
        let name = DefaultModelFile.localFeatures.rawValue
        let own = try folders.put("own/network.safetensors")
        let shipped = try folders.put("bin/\(name)")
        #expect(try folders.find(.localFeatures, own) == shipped)
        let beside = try folders.put("own/\(name)")
        #expect(try folders.find(.localFeatures, own) == beside)
    }

    @Test func whatIsNowhereIsAnErrorThatListsThePlaces() throws {
        let folders = try Folders()
        defer { try? FileManager.default.removeItem(at: folders.root) }
        let error = #expect(throws: (any Error).self) { try folders.find(.prints) }
        let words = "\(try #require(error))"
        #expect(words.hasPrefix("default.safetensors: was not found") && words.contains("LOOKALIKE_MODEL"))
        #expect(words.contains(folders.program.path) && words.contains(folders.checkout.path))
        // What the variable names is not replaced by something else.
        try folders.put("bin/default.safetensors")
        let missing = folders.root.appendingPathComponent("nowhere.safetensors").path
        let other = #expect(throws: (any Error).self) { try folders.find(.prints, missing) }
        #expect("\(try #require(other))".contains("looked for at \(missing)."))
    }

    @Test func theShippedFilesAreFound() throws {
        for file in DefaultModelFile.allCases { #expect(try FileManager.default.fileExists(atPath: file.find().path)) }
    }
}
