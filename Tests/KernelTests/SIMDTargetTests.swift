import Compute
import Foundation
import Testing

/// The other tests compare what is available. That is more than the portable target where the CPU has more.
struct SIMDTargetTests {
    @Test func everyTargetOfThisProcessorIsCompared() throws {
        let names = SIMDTarget.available.map(\.name)
        #expect(names.first == "portable")
        #if arch(arm64)
        #if os(Linux)
        let text = try String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)
        let hasDotProduct = text.split(whereSeparator: \.isWhitespace).contains("asimddp")
        #expect(names == ["portable", "neon"] + (hasDotProduct ? ["neondotprod"] : []))
        #else
        #expect(names.starts(with: ["portable", "neon"]))
        #endif
        #elseif arch(x86_64)
        let text = try String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("flags") })
        let flags = Set(line.split(separator: " "))
        #expect(names.contains("avx2") == flags.isSuperset(of: ["avx2", "fma"]))
        #expect(names.contains("avxvnni") == flags.isSuperset(of: ["avx2", "fma", "avx_vnni"]))
        if flags.isSuperset(of: ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"]) {
            #expect(names.contains("avx512") && names.contains("avx512vnni"))
            // The system may refuse the state of tiles to a process.
            if !flags.isSuperset(of: ["amx_tile", "amx_int8"]) { #expect(!names.contains("amx")) }
        }
        #endif
    }
}
