#if Service
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Lookalike
import Metrics
import PrometheusMetrics
import Synchronization

/// What the service measures.
final class ServiceMetrics: Sendable {
    private let registry: PrometheusRegistry
    /// The series of the catalogs that were last counted.
    private let start = Date().timeIntervalSince1970
    private let processorSeconds = Mutex(0.0)
    /// By route, method and status: to look them up by their labels takes longer than to refuse a request.
    private let requestMeters = Mutex<[[String]: (Counter, Timer)]>([:])
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
            ("lookalike_catalogs", "Catalogs that are there."),
            ("lookalike_catalogs_open", "Catalogs that are open."),
            ("lookalike_searches_total", "Searches for an image or a print, by whether something matched."),
            ("lookalike_disk_available_bytes", "Space for catalogs on their disk."),
            ("lookalike_disk_reserve_bytes", "What of the disk is for removals alone."),
            ("lookalike_catalogs_failed", "Catalogs that could not be opened."),
            ("lookalike_memory_bytes", "The memory that the limits are made from."),
            ("lookalike_body_bytes", "Memory that bodies of requests take."),
            ("lookalike_tasks_active", "Batches that wait or run as tasks."),
            ("lookalike_tasks_ended_total", "Tasks that have ended, by status."),
            ("lookalike_webhooks_waiting", "Events that nobody has taken yet."),
            ("lookalike_webhooks_ended_total", "Events that were taken, or given up."),
            ("lookalike_webhook_failures_total", "Attempts to send an event that failed."),
            ("lookalike_backup_timestamp_seconds", "When a catalog was last found to have a backup."),
            ("lookalike_backup_interval_seconds", "The time between two backups of a catalog."),
            ("lookalike_backup_failures_total", "Backups that failed."),
            ("lookalike_reloads_total", "Times that keys or certificates were read again, by result."),
            ("lookalike_build_info", "The version of the program."),
            ("process_start_time_seconds", "When the service started, since 1970."),
            ("process_cpu_seconds_total", "Time of all processors."),
            ("process_resident_memory_bytes", "Memory of the process."),
            ("process_open_fds", "Open files of the process."),
        ] {
            registry.describe(label, help)
        }
        Meter(
            label: "lookalike_build_info", dimensions: [("version", PackageVersion.current)], factory: registry
        ).set(1)
        for status in [TaskRecord.Status.succeeded, .failed, .cancelled, .interrupted] {
            Counter(label: "lookalike_tasks_ended_total", dimensions: [("status", status.rawValue)], factory: registry)
                .increment(by: 0)
        }
        for result in ["match", "miss"] {
            Counter(label: "lookalike_searches_total", dimensions: [("result", result)], factory: registry)
                .increment(by: 0)
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

    /// Counts a task that has ended.
    func task(_ status: TaskRecord.Status) {
        Counter(label: "lookalike_tasks_ended_total", dimensions: [("status", status.rawValue)], factory: registry)
            .increment()
    }

    func request(_ route: String, method: String, status: Int, time: Duration) {
        let key = [route, method, "\(status)"]
        let (counter, timer) = requestMeters.withLock { meters in
            if let known = meters[key] { return known }
            let labels = [("method", method), ("route", route), ("status", "\(status)")]
            let new = (
                Counter(label: "http_requests_total", dimensions: labels, factory: registry),
                Timer(label: "http_request_duration_seconds", dimensions: labels, factory: registry)
            )
            meters[key] = new
            return new
        }
        counter.increment()
        timer.record(duration: time)
    }

    func inFlight(_ change: Double) {
        Meter(label: "http_requests_in_flight", factory: registry).increment(by: change)
    }

    /// Sets the numbers of catalogs and of their entities.
    ///
    /// - Parameter counts: the numbers of all catalogs. The series of other catalogs end.
    func catalogs(_ counts: [CatalogName: Int], open: Int) {
        Meter(label: "lookalike_catalogs", factory: registry).set(counts.count)
        Meter(label: "lookalike_catalogs_open", factory: registry).set(open)
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

    /// Counts a search for an image or a print.
    func search(found: Bool) {
        Counter(
            label: "lookalike_searches_total", dimensions: [("result", found ? "match" : "miss")], factory: registry
        ).increment()
    }

    func process(_ usage: ProcessUsage, disk: Int?, limits: ServiceLimits, bodies: Int, failed: Int, tasks: Int) {
        func set(_ label: String, _ value: Double?) {
            if let value { Meter(label: label, factory: registry).set(value) }
        }
        set("process_resident_memory_bytes", usage.residentBytes.map(Double.init))
        set("process_open_fds", usage.openFiles.map(Double.init))
        set("process_start_time_seconds", start)
        set("lookalike_disk_available_bytes", disk.map(Double.init))
        set("lookalike_disk_reserve_bytes", Double(limits.diskReserve))
        set("lookalike_memory_bytes", Double(limits.memory))
        set("lookalike_body_bytes", Double(bodies))
        set("lookalike_catalogs_failed", Double(failed))
        set("lookalike_tasks_active", Double(tasks))
        guard let seconds = usage.processorSeconds else { return }
        let more = processorSeconds.withLock { counted in
            defer { counted = max(counted, seconds) }
            return max(0, seconds - counted)
        }
        FloatingPointCounter(label: "process_cpu_seconds_total", factory: registry).increment(by: more)
    }
}

/// The metrics of a webhook.
final class WebhookMetrics: Sendable {
    enum End: String, CaseIterable { case delivered, dropped }

    private let waitingMeter: Meter
    private let failures: Counter
    private let ends: [End: Counter]

    init(_ registry: PrometheusRegistry) {
        waitingMeter = Meter(label: "lookalike_webhooks_waiting", factory: registry)
        failures = Counter(label: "lookalike_webhook_failures_total", factory: registry)
        ends = Dictionary(
            uniqueKeysWithValues: End.allCases.map { end in
                (
                    end,
                    Counter(
                        label: "lookalike_webhooks_ended_total", dimensions: [("result", end.rawValue)],
                        factory: registry)
                )
            })
        waitingMeter.set(0)
        for counter in [failures] + ends.values { counter.increment(by: 0) }
    }

    func waiting(_ count: Int) { waitingMeter.set(count) }

    func failed() { failures.increment() }

    func ended(_ end: End) { ends[end]?.increment() }
}

/// The metrics of a pool.
final class PoolMetrics: Sendable {
    private let running: Meter
    private let waiting: Meter
    private let refusals: Counter
    private let waits: Timer

    init(pool: String, factory: any MetricsFactory) {
        let labels = [("pool", pool)]
        running = Meter(label: "lookalike_work_running", dimensions: labels, factory: factory)
        waiting = Meter(label: "lookalike_work_waiting", dimensions: labels, factory: factory)
        refusals = Counter(label: "lookalike_work_refused_total", dimensions: labels, factory: factory)
        waits = Timer(label: "lookalike_work_wait_seconds", dimensions: labels, factory: factory)
        set(running: 0, waiting: 0)
        refusals.increment(by: 0)
    }

    func set(running: Int, waiting: Int) {
        self.running.set(running)
        self.waiting.set(waiting)
    }

    func refused() { refusals.increment() }

    func waited(_ time: Duration) { waits.record(duration: time) }
}

/// Counts and times requests, and logs them if that is wanted.
struct MeasuringMiddleware: RouterMiddleware {
    let metrics: ServiceMetrics
    let idle: IdleMemory
    let logsRequests: Bool

    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        metrics.inFlight(1)
        // Balancers ask every few seconds.
        let isWork = !["/health/live", "/health/ready", "/metrics"].contains(request.uri.path)
        if isWork { idle.begin() }
        let response: Response
        do {
            response = try await next(request, context)
        } catch {
            metrics.inFlight(-1)
            if isWork { idle.end() }
            throw error
        }
        let endpoint = context.endpointPath ?? "none"
        // One series for all files of the page.
        let route = Self.isOfPage(endpoint) ? "page" : endpoint
        let (status, sent) = (response.status.code, response.body.contentLength)
        return response.afterBody {
            let time = ContinuousClock.now - start
            metrics.inFlight(-1)
            if isWork { idle.end() }
            metrics.request(route, method: Self.name(of: request.head), status: status, time: time)
            if logsRequests {
                Self.log(request.head, endpoint, status, sent: sent, time: time, context.identity, context.logger)
            }
        }
    }

    /// Logs who asked for what, and nothing of what was sent.
    static func log(
        _ head: HTTPRequest, _ endpoint: String, _ status: Int, sent: Int?, time: Duration,
        _ identity: RequestIdentity, _ logger: Logger
    ) {
        var metadata: Logger.Metadata = [
            "method": "\(name(of: head))", "route": "\(endpoint)", "status": .stringConvertible(status),
            "ms": .stringConvertible(time.milliseconds), "client": "\(identity.address)",
            "key": "\(identity.key ?? "-")", "catalog": "\(catalog(in: head.path ?? "")?.description ?? "-")",
            "request": "\(identity.id)",
        ]
        // A body in chunks has no length that is known before.
        metadata["received"] = head.headerFields[.contentLength].flatMap { Int($0) }.map { .stringConvertible($0) }
        metadata["sent"] = sent.map { .stringConvertible($0) }
        logger.info("request", metadata: metadata)
    }

    private static func isOfPage(_ endpoint: String) -> Bool {
        endpoint == "/" || ServiceResources.pageFiles.contains { "/" + $0.name == endpoint }
    }

    /// The catalog that a path names; nil for other paths.
    private static func catalog(in path: String) -> CatalogName? {
        let parts = path.prefix { $0 != "?" }.split(separator: "/")
        return parts.count > 2 && parts[1] == "catalogs" ? CatalogName(String(parts[2])) : nil
    }

    /// The method, or “other”: a client may invent methods, and each would make a series.
    private static func name(of request: HTTPRequest) -> String {
        let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
        return known.contains(request.method.rawValue) ? request.method.rawValue : "other"
    }
}

extension Response {
    /// Calls `body` when the response has been written, or could not be.
    fileprivate func afterBody(_ body: @escaping @Sendable () -> Void) -> Response {
        guard status != .notModified, self.body.contentLength != 0 else {
            body()
            return self
        }
        var response = self
        let written = self.body
        let end = ResponseEnd(body)
        response.body = ResponseBody(contentLength: written.contentLength) { writer in
            defer { end.reach() }
            try await written.write(writer)
        }
        return response
    }
}

/// Runs a closure once: when the end is reached, or when the response is dropped because its head was not written.
private final class ResponseEnd: Sendable {
    private let body: Mutex<(@Sendable () -> Void)?>

    init(_ body: @escaping @Sendable () -> Void) { self.body = Mutex(body) }

    func reach() {
        let body = body.withLock { body in
            defer { body = nil }
            return body
        }
        body?()
    }

    deinit { reach() }
}
#endif
