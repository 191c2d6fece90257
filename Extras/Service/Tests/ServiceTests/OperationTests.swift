import Foundation
@_spi(Service) import LookalikeService
import Testing

/// What operators watch the service with, and the unit that runs it.
@Suite struct OperationTests {
    private static let packaging = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Packaging").standardizedFileURL

    private static func text(_ name: String) throws -> String {
        try String(contentsOf: packaging.appendingPathComponent(name), encoding: .utf8)
    }

    /// The expressions of the rules, which are on the line of `expr` or on those below it with more space before them.
    private static func rules() throws -> [String] {
        var expressions: [String] = []
        var isOpen = false
        for line in try text("alerts.yml").split(separator: "\n") {
            if let start = line.range(of: " expr: ") {
                expressions.append(String(line[start.upperBound...]).replacing("|", with: ""))
                isOpen = line.hasSuffix("|")
            } else if isOpen, line.hasPrefix("          ") {
                expressions[expressions.count - 1] += " " + line
            } else {
                isOpen = false
            }
        }
        return expressions
    }

    private static func panels() throws -> [String] {
        let dashboard = try JSONSerialization.jsonObject(with: Data(try text("grafana.json").utf8)) as? [String: Any]
        let panels = try #require(dashboard?["panels"] as? [[String: Any]])
        return panels.flatMap { panel in
            (panel["targets"] as? [[String: Any]] ?? []).compactMap { $0["expr"] as? String }
        }
    }

    /// The names of the series of an answer, with the names of their labels.
    private static func series(_ text: String) -> [Substring: Set<Substring>] {
        var series: [Substring: Set<Substring>] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let name = line.prefix { $0 != "{" && $0 != " " }
            series[name, default: []].formUnion(line.matches(of: /[{,]([a-z]+)="/).map(\.1))
        }
        return series
    }

    /// They name metrics that the service has, with labels that these have.
    @Test func alertsAndPanels() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try FileManager.default.copyItem(at: DemoCovers.catalog, to: folder.appendingPathComponent("covers"))
        let secret = folder.appendingPathComponent("secret")
        try Data("a secret of twenty-four bytes".utf8).write(to: secret)
        let program = try await Program([
            "--catalogs", folder.path, "--port", "0", "--log-level", "critical", "--backup-every", "1d", "--webhook",
            "http://127.0.0.1:1/", "--webhook-secret-file", secret.path,
        ])
        let image = try DemoCovers.image("salt-signal")
        #expect(try await program.send("POST", "/v1/catalogs/covers/search", body: image).status == 200)
        var metrics = ""
        while !metrics.contains("lookalike_backup_timestamp_seconds{") {
            metrics = try await program.send("GET", "/metrics").text
        }
        try await program.end()
        let series = Self.series(metrics)
        let expressions = try Self.rules() + Self.panels()
        #expect(expressions.count > 25)
        for expression in expressions {
            let names = expression.matches(of: /\b(?:lookalike|http|process)_[a-z_]+/)
            #expect(!names.isEmpty, "\(expression)")
            for name in names {
                let labels = try #require(series[name.output], "\(name.output) in \(expression)")
                let rest = expression[name.range.upperBound...]
                guard rest.first == "{" else { continue }
                for label in rest.prefix(upTo: rest.firstIndex(of: "}") ?? rest.endIndex).matches(of: /[{,]([a-z]+)=/)
                where label.1 != "instance" {
                    #expect(labels.contains(label.1), "\(label.1) in \(expression)")
                }
            }
        }
        // All that has a description is in the answer, and the other way round.
        let described = Set(metrics.matches(of: /[#] HELP ([a-z_]+)\s/).map(\.1))
        let typed = Set(metrics.matches(of: /[#] TYPE ([a-z_]+)\s/).map(\.1))
        #expect(described == typed)
    }

    /// systemd killed services that had not ended yet.
    @Test func theUnitWaitsForTheEndOfRequests() throws {
        let unit = try Self.text("lookalike-serve.service")
        let match = try #require(unit.firstMatch(of: /\nTimeoutStopSec=([0-9]+)min\n/))
        let settings = try JSONSerialization.jsonObject(with: Data(try Self.text("serve.json").utf8)) as? [String: Any]
        let drain = settings?["drainDelay"] as? Double ?? 0
        let limits = ServiceLimits()
        let most = drain + limits.requestTime / .seconds(1) + 15
        #expect((Double(match.1) ?? 0) * 60 > most)
    }
}
