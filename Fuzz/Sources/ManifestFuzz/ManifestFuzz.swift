import Foundation
import FuzzSupport
import Lookalike

/// Reads a manifest: CSV or JSON lines.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzManifests(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    guard let (name, text) = FuzzInput(bytes, count).choice(of: ["list.csv", "list.jsonl"]) else { return -1 }
    // Foundation 6.3 leaks a page whenever it reads an empty file.
    guard !text.isEmpty else { return -1 }
    let file = FuzzFolder.write(text, to: name)
    guard let (items, problems) = try? ImageSource.items(at: file) else { return 0 }
    let ids = Set(items.map { Array($0.entity.id.utf8) })
    precondition(ids.count == items.count && problems.allSatisfy { !$0.description.isEmpty })
    return 0
}
