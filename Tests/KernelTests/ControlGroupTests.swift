import Compute
import Foundation
import TestSupport
import Testing

/// The limits of containers, from files as Linux has them.
struct ControlGroupTests {
    @Test(
        arguments: [
            ([:], nil, nil),
            // Version 2: half a processor in a group of two.
            (
                [
                    "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "200000 100000\n",
                    "sys/fs/cgroup/a/b/cpu.max": "50000 100000\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
                ], 0.5, nil
            ),
            (["proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"], nil, nil),
            // Version 1, where a quota of -1 is none.
            (
                [
                    "proc/self/cgroup": "4:cpu,cpuacct:/x\n3:memory:/x\n",
                    "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us": "150000\n",
                    "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000\n",
                    "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
                    "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
                    "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1048576\n",
                ], 1.5, 1 << 20
            ),
            (["proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "x y z\n"], nil, nil),
        ] as [([String: String], Double?, Int?)])
    func limitsOfControlGroups(files: [String: String], processors: Double?, memory: Int?) throws {
        let folder = try TemporaryFolder()
        for (path, text) in files {
            let file = folder.url.appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        let groups = ControlGroups(root: folder.url)
        #expect(groups.processors == processors && groups.memory == memory)
    }

    @Test func atLeastOneProcessor() { #expect(availableProcessorCount >= 1) }
}
