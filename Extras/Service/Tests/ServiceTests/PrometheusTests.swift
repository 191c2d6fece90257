import CoreMetrics
import PrometheusMetrics
import Testing

@Suite struct PrometheusTests {
    @Test func countersGaugesAndHistogramsAsText() {
        let registry = PrometheusRegistry()
        registry.describe("requests.total", "Requests\nby status.")
        Counter(label: "requests.total", dimensions: [("status", "200"), ("path", "a\"\\\n")], factory: registry)
            .increment(by: 2)
        Counter(label: "requests.total", dimensions: [("path", "a\"\\\n"), ("status", "200")], factory: registry)
            .increment()
        Meter(label: "running", factory: registry).set(3)
        let timer = Timer(label: "duration_seconds", dimensions: [("route", "/")], factory: registry)
        timer.recordMilliseconds(1)
        timer.recordMilliseconds(30)
        timer.recordSeconds(60)
        let lines = registry.text().split(separator: "\n").map(String.init)
        #expect(lines.contains("# HELP requests_total Requests\\nby status."))
        #expect(lines.contains("# TYPE requests_total counter"))
        #expect(lines.contains("requests_total{path=\"a\\\"\\\\\\n\",status=\"200\"} 3.0"))
        #expect(lines.contains("running 3.0"))
        #expect(lines.contains("# TYPE duration_seconds histogram"))
        #expect(lines.contains("duration_seconds_bucket{route=\"/\",le=\"0.001\"} 1"))
        #expect(lines.contains("duration_seconds_bucket{route=\"/\",le=\"0.02\"} 1"))
        #expect(lines.contains("duration_seconds_bucket{route=\"/\",le=\"0.05\"} 2"))
        #expect(lines.contains("duration_seconds_bucket{route=\"/\",le=\"+Inf\"} 3"))
        #expect(lines.contains("duration_seconds_sum{route=\"/\"} 60.031"))
        #expect(lines.contains("duration_seconds_count{route=\"/\"} 3"))
    }

    @Test func aDestroyedMetricIsGone() {
        let registry = PrometheusRegistry()
        let counter = Counter(label: "gone", factory: registry)
        counter.increment()
        counter.destroy()
        #expect(!registry.text().contains("gone"))
    }

    @Test func aNameOfTwoKindsKeepsTheFirst() {
        let registry = PrometheusRegistry()
        Counter(label: "same", factory: registry).increment()
        Meter(label: "same", factory: registry).set(9)
        #expect(registry.text() == "# TYPE same counter\nsame 1.0\n")
    }
}
