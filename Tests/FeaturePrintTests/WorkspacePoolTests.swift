import Compute
import FeaturePrints
import Foundation
import Inference
import TestSupport
import Testing

struct WorkspacePoolTests {
    /// Of a model file.
    private static func network(_ data: Data) throws -> Network {
        let file = try SafeTensorsFile(data)
        let text = try #require(file.metadata[NetworkGraph.metadataKey])
        let graph = try JSONDecoder().decode(NetworkGraph.self, from: Data(text.utf8))
        return try Network(graph: graph, file: file, quantization: nil)
    }

    private static func odd() throws -> Network {
        let folder = try #require(Bundle.module.resourceURL).appendingPathComponent("Fixtures")
        return try network(Data(contentsOf: folder.appendingPathComponent("odd.safetensors")))
    }

    @Test func theSmallestFreeWorkspaceThatSufficesIsReused() throws {
        let network = try Self.network(SafeTensorsBuilder.tiny().data)
        let pool = WorkspacePool()
        func workspace(batch: Int, threads: Int) -> Workspace {
            pool.withWorkspace(for: network, batch: batch, threads: threads) { $0 }
        }
        let large = workspace(batch: 8, threads: 4)
        #expect(workspace(batch: 8, threads: 4) === large && workspace(batch: 3, threads: 1) === large)
        // While the large one is in use.
        let small = pool.withWorkspace(for: network, batch: 8, threads: 4) { _ in workspace(batch: 2, threads: 1) }
        #expect((small.batchCapacity, small.threads) == (2, 1))
        #expect(workspace(batch: 1, threads: 1) === small && workspace(batch: 3, threads: 1) === large)
        #expect(workspace(batch: 1, threads: 2) === large && workspace(batch: 9, threads: 1) !== large)
    }

    @Test func asMuchAsWasInUseIsKept() throws {
        let network = try Self.network(SafeTensorsBuilder.tiny().data)
        let size = network.makeWorkspace(batchCapacity: 1, threads: 1).byteCount
        let pool = WorkspacePool(mostFreeBytes: 3 * size)
        /// So many in use at the same time.
        func use(_ count: Int) {
            guard count > 0 else { return }
            pool.withWorkspace(for: network, batch: 1, threads: 1) { _ in use(count - 1) }
        }
        use(2)
        #expect(pool.freeByteCount == 2 * size)
        // Each pass finds one, also if the next ones are as many.
        use(7)
        #expect(pool.freeByteCount == 7 * size)
        // A larger one takes the place of those that were used least recently.
        let large = pool.withWorkspace(for: network, batch: 4, threads: 1) { $0 }
        #expect(large.byteCount < 7 * size && large.byteCount > size)
        #expect(pool.freeByteCount <= 7 * size && pool.freeByteCount > 6 * size)
        #expect(pool.withWorkspace(for: network, batch: 4, threads: 1) { $0 } === large)
    }

    @Test func sizesThatAreUsedOneAfterAnotherAreNotAllKept() throws {
        let network = try Self.network(SafeTensorsBuilder.tiny().data)
        func size(_ batch: Int) -> Int { network.makeWorkspace(batchCapacity: batch, threads: 1).byteCount }
        let pool = WorkspacePool(mostFreeBytes: size(1) + size(2))
        for batch in 1...2 { pool.withWorkspace(for: network, batch: batch, threads: 1) { _ in } }
        #expect(pool.freeByteCount == size(1) + size(2))
        for batch in 3...20 { pool.withWorkspace(for: network, batch: batch, threads: 1) { _ in } }
        #expect(pool.freeByteCount == size(20))
    }

    @Test func aLargerWorkspaceGivesTheSameOutputs() throws {
        let network = try Self.odd()
        func outputs(_ images: Range<Int>, in workspace: Workspace, threads: Int) -> [[Float]] {
            for (place, image) in images.enumerated() {
                let input = network.input(place, in: workspace)
                for index in input.indices { input[index] = Float((index * (3 + image)) % 17) / 17 }
            }
            network.run(
                workspace, batch: images.count, threads: threads, results: [.output, .corners], kernels: .selected)
            return images.indices.map { Array(network.output($0 - images.lowerBound, in: workspace)) }
        }
        let expected = outputs(0..<2, in: network.makeWorkspace(batchCapacity: 2, threads: 1), threads: 1)
        let large = network.makeWorkspace(batchCapacity: 5, threads: 3)
        for threads in [1, 2, 3] {
            // What other images left.
            _ = outputs(2..<7, in: large, threads: threads)
            #expect(outputs(0..<2, in: large, threads: threads) == expected)
        }
    }

    @Test func aBatchOfLargeMapsHasFewImages() throws {
        /// Maps of 64 bytes per pixel, and an image of 16.
        func largestBatch(side: Int) throws -> Int {
            var builder = SafeTensorsBuilder.tiny()
            builder.metadata[NetworkGraph.metadataKey] = builder.metadata[NetworkGraph.metadataKey]?
                .replacingOccurrences(of: "\"width\":4,\"height\":4", with: "\"width\":\(side),\"height\":\(side)")
            return try Self.network(builder.data).largestBatch
        }
        #expect(try largestBatch(side: 2048) == 1 && largestBatch(side: 1024) == 6)
        #expect(try largestBatch(side: 4) > 100_000)
    }
}
