import Foundation
import SystemStores

@main
struct Outside {
    /// Events of a folder that is not there: the products are linked and run.
    static func main() async {
        let calendars = CalendarFolder(URL(fileURLWithPath: "/nowhere"))
        let contents = try? await calendars.items(in: DateInterval(start: .now, duration: 60))
        print("\(contents?.items.count ?? 0) events")
    }
}
