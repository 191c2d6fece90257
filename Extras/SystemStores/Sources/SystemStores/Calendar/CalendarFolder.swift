import Foundation

/// A calendar as a folder of iCalendar files, as vdirsyncer and the exports of calendar servers keep it: `.ics` files,
/// in the folder and its subfolders, one per calendar, with one or more events each (RFC 5545).
public struct CalendarFolder: SystemStore {
    public let url: URL
    /// The time zone of times without one, and of whole days.
    public let timeZone: TimeZone

    /// Larger files are rejected.
    private static let largestFile = 32 << 20

    public init(_ url: URL, timeZone: TimeZone = .current) {
        self.url = url
        self.timeZone = timeZone
    }

    /// The occurrences of events that overlap a span of time, by their start. Repeating events are expanded, with their
    /// exceptions and moved occurrences; cancelled ones are left out.
    ///
    /// A file that cannot be read, or an event in it, is reported, and the rest is returned.
    /// - Throws: ``StoreProblem`` when the folder cannot be read, and `CancellationError`.
    public func items(in span: DateInterval) async throws -> StoreContents<CalendarEvent> {
        var contents = StoreContents<CalendarEvent>(items: [])
        for file in try files() {
            try Task.checkCancellation()
            do throws(StoreProblem) {
                let read = try ICalendarFile(data(of: file), path: file.path, timeZone: timeZone).occurrences(in: span)
                contents.items += read.items
                contents.problems += read.problems
            } catch {
                contents.problems.append(error)
            }
        }
        contents.items.sort { ($0.start, $0.title, $0.uid) < ($1.start, $1.title, $1.uid) }
        return contents
    }

    /// The events of the next days whose title contains one of the names, with these names.
    ///
    /// - Parameter now: when the span begins.
    public func upcoming(
        naming names: some Sequence<String> & Sendable, days: Int = 90, from now: Date = .now
    ) async throws -> (matches: [(event: CalendarEvent, names: [String])], problems: [StoreProblem]) {
        let matcher = NameMatcher(names)
        var calendar = Foundation.Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        let end =
            calendar.date(byAdding: .day, value: max(0, days), to: now) ?? now.addingTimeInterval(Double(days) * 86_400)
        let contents = try await items(in: DateInterval(start: now, end: end))
        let matches = contents.items.map { (event: $0, names: matcher.names(in: $0.title)) }.filter {
            !$0.names.isEmpty
        }
        return (matches, contents.problems)
    }

    public func changes() throws -> AsyncStream<Void> { try FolderChanges.stream(of: url) }

    /// The calendar's files by path. Hidden files are ignored: programs write new versions under hidden names first.
    private func files() throws -> [URL] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder), isFolder.boolValue else {
            throw StoreProblem(origin: url.path, reason: "there is no such folder")
        }
        var failure: (any Error)?
        let entries = FileManager.default.enumerator(
            at: url, includingPropertiesForKeys: [.isRegularFileKey], options: [.skipsHiddenFiles]
        ) { _, error in
            failure = failure ?? error
            return true
        }
        let found = (entries?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension.lowercased() == "ics" }
        if found.isEmpty, let failure {
            throw StoreProblem(origin: url.path, reason: "cannot be read: \((failure as NSError).localizedDescription)")
        }
        return found.sorted { $0.path < $1.path }
    }

    private func data(of file: URL) throws(StoreProblem) -> Data {
        do {
            let size = try file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
            guard size <= Self.largestFile else {
                throw StoreProblem(
                    origin: file.path, reason: "has \(size) bytes; the largest that is read has \(Self.largestFile)")
            }
            return try Data(contentsOf: file)
        } catch let problem as StoreProblem {
            throw problem
        } catch {
            throw StoreProblem(origin: file.path, reason: "cannot be read: \((error as NSError).localizedDescription)")
        }
    }
}
