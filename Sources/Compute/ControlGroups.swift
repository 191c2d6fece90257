package import Foundation

/// The limits of the control groups that this process is in, of version 1 and 2, and of those around them.
///
/// A container may see its groups alone, from their root on: files that are not there set no limit.
package struct ControlGroups: Sendable {
    /// The bytes of memory that the process may use; nil for any.
    package private(set) var memory: Int?
    /// The processors whose time it may use; nil for any.
    package private(set) var processors: Double?

    /// - Parameter root: the folder with `proc` and `sys`.
    package init(root: URL = URL(fileURLWithPath: "/")) {
        let groups = (try? String(contentsOf: root.appendingPathComponent("proc/self/cgroup"), encoding: .utf8)) ?? ""
        for line in groups.split(separator: "\n") {
            // The number of a hierarchy, its controllers, and the path of the group.
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { continue }
            let controllers = parts[1].split(separator: ",")
            let isUnified = parts[1].isEmpty
            let folders =
                isUnified
                ? ["", "unified"]
                : [String(parts[1])] + (controllers.contains("memory") ? ["memory"] : [])
                    + (controllers.contains("cpu") ? ["cpu", "cpu,cpuacct"] : [])
            for folder in folders {
                let hierarchy = root.appendingPathComponent("sys/fs/cgroup").appendingPathComponent(folder)
                for group in Self.groups(String(parts[2])) {
                    read(hierarchy.appendingPathComponent(group), isUnified: isUnified)
                }
            }
        }
    }

    /// The paths of a group and of those around it. Of one outside of what a container sees, the root alone is there.
    private static func groups(_ path: String) -> [String] {
        let parts = path.split(separator: "/").map(String.init)
        if parts.contains("..") { return ["."] }
        return (0...parts.count).map { parts.prefix($0).joined(separator: "/") }.map { $0.isEmpty ? "." : $0 }
    }

    private mutating func read(_ group: URL, isUnified: Bool) {
        func numbers(_ name: String) -> [Double?] {
            let text = (try? String(contentsOf: group.appendingPathComponent(name), encoding: .utf8)) ?? ""
            return text.split(whereSeparator: \.isWhitespace).map { Double($0) }
        }
        let limits = (isUnified ? ["memory.max", "memory.high"] : ["memory.limit_in_bytes"])
            .compactMap { numbers($0).first ?? nil }
        // Version 1 has a number for no limit: the pages that 63 bits hold.
        for limit in limits where (1..<0x1p60).contains(limit) { memory = min(memory ?? .max, Int(limit)) }
        let time = isUnified ? numbers("cpu.max") : numbers("cpu.cfs_quota_us") + numbers("cpu.cfs_period_us")
        if time.count == 2, let quota = time[0], let period = time[1], quota > 0, period > 0 {
            processors = min(processors ?? .infinity, quota / period)
        }
    }
}
