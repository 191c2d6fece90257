#if AppleNames
@_exported public import AppleNames
@_exported public import Observation
import Synchronization
@_exported public import SystemStores

/// EventKit's name for the user's calendars, here a folder of iCalendar files (`CalendarFolder`).
///
/// Without a folder of its own, a store reads the one that the environment variable `LOOKALIKE_CALENDARS` names, or
/// `~/.calendars`, where vdirsyncer keeps its copies.
public final class EKEventStore: Sendable {
    /// The folder with the calendars.
    public let calendarFolder: CalendarFolder
    private let watcher = Mutex<Task<Void, Never>?>(nil)

    /// The user's calendars.
    public convenience init() {
        let named = ProcessInfo.processInfo.environment["LOOKALIKE_CALENDARS"].map { URL(fileURLWithPath: $0) }
        self.init(
            calendarFolder: CalendarFolder(
                named ?? FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".calendars")))
    }

    /// The calendars of a folder.
    public init(calendarFolder: CalendarFolder) {
        self.calendarFolder = calendarFolder
        watch()
    }

    deinit { watcher.withLock { $0?.cancel() } }

    /// Whether the calendars can be read. Nobody is asked: the file system has the permissions.
    public func requestFullAccessToEvents() async throws -> Bool {
        watch()
        return isReadable
    }

    /// Whether events can be read, by the permissions of the user's calendars.
    public static func authorizationStatus(for entityType: EKEntityType) -> EKAuthorizationStatus {
        EKEventStore().isReadable ? .fullAccess : .denied
    }

    private var isReadable: Bool { FileManager.default.isReadableFile(atPath: calendarFolder.url.path) }

    /// The events that overlap a span of time.
    ///
    /// - Parameter calendars: not used: all of the folder are searched.
    public func predicateForEvents(withStart start: Date, end: Date, calendars: [EKCalendar]?) -> NSPredicate {
        EventPredicate(span: DateInterval(start: start, end: max(start, end)))
    }

    /// The events of a span, by their start; none if the folder cannot be read, or for a predicate that is not from
    /// ``predicateForEvents(withStart:end:calendars:)``.
    ///
    /// Files that cannot be read are left out; `CalendarFolder.events(in:)` reports them.
    public func events(matching predicate: NSPredicate) -> [EKEvent] {
        guard let predicate = predicate as? EventPredicate,
            let found = try? calendarFolder.events(in: predicate.span)
        else { return [] }
        return found.items.map { EKEvent($0) }
    }

    /// Posts a notification after each change of the folder, once it exists.
    private func watch() {
        watcher.withLock { watcher in
            guard watcher == nil, let changes = try? calendarFolder.changes() else { return }
            watcher = Task.detached { [weak self] in
                for await _ in changes {
                    NotificationCenter.default.post(name: .EKEventStoreChanged, object: self)
                }
            }
        }
    }
}

extension Notification.Name {
    /// Posted after the calendars of an ``EKEventStore`` changed.
    public static let EKEventStoreChanged = Notification.Name("EKEventStoreChangedNotification")
}

/// The kinds of things that a calendar has.
public enum EKEntityType: UInt, Sendable {
    /// Events.
    case event
    /// Reminders, which this package does not read.
    case reminder
}

/// What an app may do with the calendars.
public enum EKAuthorizationStatus: Int, Sendable {
    /// Nobody was asked.
    case notDetermined
    /// The system does not allow it.
    case restricted
    /// The user does not allow it.
    case denied
    /// Reading and writing.
    case fullAccess
    /// Adding events.
    case writeOnly
}

/// A calendar of a store; here stores have no calendars of their own.
public final class EKCalendar: Sendable {
    private init() {}
}

/// An occurrence of an event.
public final class EKEvent: Sendable {
    /// The event as the calendar's file has it.
    public let event: CalendarEvent

    init(_ event: CalendarEvent) { self.event = event }

    /// The same for all occurrences of a repeating event.
    public var eventIdentifier: String! { event.uid }
    /// What the event is called.
    public var title: String! { event.title }
    /// The beginning.
    public var startDate: Date! { event.start }
    /// The end.
    public var endDate: Date! { event.end }
    /// Whether the event lasts from the beginning of a day to that of another.
    public var isAllDay: Bool { event.isAllDay }
    /// The place.
    public var location: String? { event.location }
    /// Further text.
    public var notes: String? { event.notes }
}

/// The events of a span.
private final class EventPredicate: NSPredicate {
    let span: DateInterval

    init(span: DateInterval) {
        self.span = span
        super.init { event, _ in
            guard let event = event as? EKEvent else { return false }
            return event.event.end >= span.start && event.event.start <= span.end
        }
    }

    required init?(coder: NSCoder) { nil }
}
#endif
