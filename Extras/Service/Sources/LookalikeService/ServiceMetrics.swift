import Lookalike
import Metrics
import PrometheusMetrics
import Synchronization

/// What the service measures.
final class ServiceMetrics: Sendable {
    private let registry: PrometheusRegistry
    /// The entities of the catalogs that were there last.
    private let entityMeters = Mutex<[CatalogName: Meter]>([:])

    init(_ registry: PrometheusRegistry) {
        self.registry = registry
        for (label, help) in [
            ("http_requests_total", "Requests by route, method and status."),
            ("http_request_duration_seconds", "From the head of a request to the end of its answer."),
            ("http_requests_in_flight", "Requests that are worked on."),
            ("lookalike_search_stage_seconds", "Time of each stage of a search, summed over threads."),
            ("lookalike_work_running", "Work that has a place in its pool."),
            ("lookalike_work_waiting", "Work that waits for a place in its pool."),
            ("lookalike_work_refused_total", "Work that was refused with 503."),
            ("lookalike_work_wait_seconds", "How long work waited that had to."),
            ("lookalike_catalog_entities", "Entities per catalog."),
            ("process_resident_memory_bytes", "Memory of the process."),
            ("process_open_fds", "Open files of the process."),
        ] {
            registry.describe(label, help)
        }
    }

    /// Records the stages of a search, and returns their milliseconds.
    func record(_ timings: StageTimings, receive: Duration, wait: Duration) -> [String: Double] {
        var all = [("receive", receive), ("wait", wait)]
        all += timings.stages.map { ($0.stage.rawValue, $0.time) }
        for (stage, time) in all {
            Timer(label: "lookalike_search_stage_seconds", dimensions: [("stage", stage)], factory: registry)
                .record(duration: time)
        }
        return Dictionary(all.map { ($0.0, $0.1.milliseconds) }, uniquingKeysWith: +)
    }

    func request(_ route: String, method: String, status: Int, time: Duration) {
        Counter(
            label: "http_requests_total",
            dimensions: [("method", method), ("route", route), ("status", "\(status)")], factory: registry
        ).increment()
        Timer(label: "http_request_duration_seconds", dimensions: [("route", route)], factory: registry)
            .record(duration: time)
    }

    func inFlight(_ change: Double) {
        Meter(label: "http_requests_in_flight", factory: registry).increment(by: change)
    }

    /// - Parameter counts: those of all catalogs. Others are gone, and their series with them.
    func entities(_ counts: [CatalogName: Int]) {
        entityMeters.withLock { meters in
            for (name, meter) in meters where counts[name] == nil {
                meter.destroy()
                meters[name] = nil
            }
            for (name, count) in counts {
                let meter =
                    meters[name]
                    ?? Meter(
                        label: "lookalike_catalog_entities", dimensions: [("catalog", name.description)],
                        factory: registry)
                meter.set(count)
                meters[name] = meter
            }
        }
    }

    func process(memory: Int?, files: Int?) {
        if let memory { Meter(label: "process_resident_memory_bytes", factory: registry).set(memory) }
        if let files { Meter(label: "process_open_fds", factory: registry).set(files) }
    }
}
