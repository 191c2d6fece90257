import Foundation
import FuzzSupport
import SystemStores

/// Reads a calendar, an address book or an export of health readings.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzStores(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    guard let (name, text) = FuzzInput(bytes, count).choice(of: ["a.ics", "a.vcf", "export.xml"]) else { return -1 }
    let folder = FuzzFolder.url.appendingPathComponent("store-\(name)")
    try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let file = FuzzFolder.write(text, to: "store-\(name)/\(name)")
    // A year: events may repeat every second of it.
    let span = DateInterval(start: Date(timeIntervalSince1970: 1_700_000_000), duration: 366 * 86_400)
    wait {
        switch name {
        case "a.ics": _ = try? await CalendarFolder(folder).items(in: span)
        case "a.vcf":
            if let contacts = try? await ContactFolder(folder).contacts() {
                _ = ContactIndex(contacts.items).contacts(named: "a")
            }
        default: _ = try? await HealthExport(file).items(in: span)
        }
    }
    return 0
}
