import ContactPhotos
import Foundation
import FuzzSupport
import Lookalike
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
        case "a.ics":
            let calendar = CalendarFolder(folder)
            if let events = try? await calendar.items(in: span) {
                precondition(events.items.allSatisfy { $0.start <= $0.end && $0.start < span.end })
            }
            _ = try? await calendar.upcoming(naming: ["a", "evening"], days: 30, from: span.start)
        case "a.vcf":
            if let contacts = try? await ContactFolder(folder).contacts() {
                _ = ContactIndex(contacts.items).contacts(named: "a")
                searchPhotos(of: contacts.items)
            }
        default:
            let health = HealthExport(file)
            _ = try? await health.items(in: span)
            for interval in [HealthInterval.hour, .day, nil] {
                _ = try? await health.statistics(of: .heartRate, in: span, every: interval)
            }
            if let anchor = try? await health.anchor(), let changes = try? await health.changes(since: anchor) {
                precondition(changes.added.isEmpty && changes.deleted.isEmpty, "the file is the same")
            }
        }
    }
    return 0
}

/// Contacts with photos in the card, and files beside it, whatever the URL is.
private func searchPhotos(of contacts: [Contact]) {
    let folder = FuzzFolder.url.appendingPathComponent("photos")
    try? FileManager.default.removeItem(at: folder)
    guard contacts.contains(where: { $0.photo != nil }), contacts.count < 20,
        let model = try? FeaturePrintModel(contentsOf: FuzzFolder.smallModel),
        let photos = try? ContactPhotoCatalog(at: folder, model: model)
    else { return }
    _ = try? photos.update(with: contacts)
}
