import Catalogs
import DefaultModel
import FeaturePrints
import Foundation
import Imaging
import TestSupport
import Testing

/// A folder of generated images, and a catalog of them.
struct CatalogFixture {
    let folder: TemporaryFolder
    var images: URL { folder.file("images") }
    var catalog: URL { folder.file("catalog") }

    init(count: Int = 6) throws {
        folder = try TemporaryFolder()
        for index in 0..<count { try write(index, seed: UInt64(index)) }
    }

    func path(_ index: Int) -> URL { images.appendingPathComponent("sub\(index % 2)/image\(index).png") }
    func id(_ index: Int) -> String { "sub\(index % 2)/image\(index)" }

    func write(_ index: Int, seed: UInt64) throws {
        try FileManager.default.createDirectory(
            at: path(index).deletingLastPathComponent(), withIntermediateDirectories: true)
        try SampleImage.blocks(seed: seed).pngData().write(to: path(index))
    }

    @discardableResult
    func index(model: FeaturePrintModel? = nil) throws -> IndexReport {
        let (items, problems) = try ImageSource.items(at: images)
        var report = try CatalogIndexer(at: catalog, model: model).index(items)
        report.problems += problems
        return report
    }

    /// The shipped network with one bias changed: another model, as far as prints go.
    static func otherModel() throws -> FeaturePrintModel {
        var data = try FeaturePrintModel.default().fileData
        // The last float of the file is the projection's; its exponent and sign stay, so that it is finite.
        data[data.count - 3] ^= 0x55
        return try FeaturePrintModel(data, named: "other")
    }

    /// The shipped model with other metadata: the same network, with other advice.
    static func model(advising change: (inout [String: String]) -> Void) throws -> FeaturePrintModel {
        let data = try FeaturePrintModel.default().fileData
        let length = data.prefix(8).enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
        var header = try #require(
            try JSONSerialization.jsonObject(with: data.subdata(in: 8..<(8 + length))) as? [String: Any])
        var metadata = try #require(header["__metadata__"] as? [String: String])
        change(&metadata)
        header["__metadata__"] = metadata
        let changed = try JSONSerialization.data(withJSONObject: header)
        let prefix = Data((0..<8).map { UInt8(truncatingIfNeeded: changed.count >> (8 * $0)) })
        return try FeaturePrintModel(prefix + changed + data[(8 + length)...], named: "advising")
    }
}
