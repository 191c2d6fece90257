import CatalogEdits
import Foundation
import FuzzSupport

/// Restores a snapshot whose digests are right and whose catalog is not, and uses what was restored.
enum DamagedSnapshot {
    private static let catalog = "/v1/catalogs/\(ServedCatalogs.name)-damaged"

    /// The first byte of an input chooses between a value in the database and bytes of a file.
    static func restore(_ input: Data) {
        guard let (kind, edits) = FuzzInput(input).choice(of: [Kind.row, .database, .model]) else { return }
        var files = ServedCatalogs.shared.snapshot
        switch kind {
        case .row: files["catalog.sqlite"] = changed(files["catalog.sqlite"] ?? Data(), by: Array(edits))
        case .database: files["catalog.sqlite"] = edited(files["catalog.sqlite"], edits)
        case .model: files["model.safetensors"] = edited(files["model.safetensors"], edits)
        }
        let answer = send("POST \(catalog)/restore", "application/x-tar", TarArchive.make(files))
        check(answer, "restore")
        guard case .status(200, _) = answer else { return }
        let change = Data(#"{"labels": ["l", "n"], "attributes": {"year": null, "n": "1"}}"#.utf8)
        for (line, type, body) in [
            ("GET \(catalog)", nil, Data()),
            ("POST \(catalog)/search?facets=type,label,attribute.year", "image/png", FuzzedImage.png),
            ("POST \(catalog)/search", "application/json", Data(#"{"text": "T"}"#.utf8)),
            ("POST \(catalog)/search", "application/json", Data(#"{"labels": ["l"]}"#.utf8)),
            ("POST \(catalog)/search", "application/json", Data(#"{"entity": "1", "minConfidence": 0}"#.utf8)),
            ("GET \(catalog)/entities/0", nil, Data()), ("GET \(catalog)/entities/0/thumbnail", nil, Data()),
            ("PATCH \(catalog)/entities/1", "application/json", change),
            ("PUT \(catalog)/entities/n", "image/png", FuzzedImage.png),
            ("DELETE \(catalog)/entities/2", nil, Data()), ("POST \(catalog)/snapshot", nil, Data()),
        ] as [(String, String?, Data)] {
            check(send(line, type, body), line)
        }
    }

    private enum Kind { case row, database, model }

    private static func edited(_ file: Data?, _ edits: Data) -> Data {
        var bytes = [UInt8](file ?? Data())
        ByteEdits(ArraySlice(edits)).apply(to: &bytes)
        return Data(bytes)
    }

    private static func changed(_ database: Data, by edit: [UInt8]) -> Data {
        let file = FuzzFolder.write(database, to: "damaged.sqlite")
        RowEdit(edit)?.apply(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return (try? Data(contentsOf: file)) ?? Data()
    }

    /// 507 says that the catalog cannot be read or written.
    private static func check(_ answer: HTTPAnswer, _ line: String) {
        switch answer {
        case .status(200..<499, _), .status(507, _): break
        case .status(let status, _): fatalError("\(line): status \(status)")
        case .none(let reason): fatalError("\(line): \(reason)")
        }
    }
}
