import Foundation
import LookalikeService
import PrometheusMetrics

func serve(_ configuration: ServiceConfiguration) async throws {
    let registry = PrometheusRegistry()
    try await LookalikeService(configuration, registry: registry).run()
    print(registry.text())
}
