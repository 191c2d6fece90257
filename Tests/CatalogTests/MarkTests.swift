import Catalogs
import Foundation
import Imaging
import TestSupport
import Testing

/// Marks, such as logos and icons: a few shapes in one color, on a ground of another brightness than in the catalog.
struct MarkTests {
    typealias Color = (UInt8, UInt8, UInt8)
    static let (black, white): (Color, Color) = ((0, 0, 0), (255, 255, 255))

    /// Six disks, rings and bars of a seed.
    static func mark(_ seed: UInt64, ink: Color, ground: Color) throws -> PixelBuffer {
        var random = SeededGenerator(seed: seed)
        let shapes = (0..<6).map { _ in
            (
                x: Double.random(in: 90...230, using: &random), y: Double.random(in: 90...230, using: &random),
                radius: Double.random(in: 20...70, using: &random), kind: Int.random(in: 0..<3, using: &random)
            )
        }
        let pixels = (0..<320 * 320).flatMap { index -> [UInt8] in
            let (x, y) = (Double(index % 320), Double(index / 320))
            let isInk = shapes.contains { shape in
                let (dx, dy) = (x - shape.x, y - shape.y)
                switch shape.kind {
                case 0: return hypot(dx, dy) < shape.radius
                case 1: return abs(hypot(dx, dy) - shape.radius) < 9
                default: return abs(dx) < shape.radius * 1.4 && abs(dy) < 12
                }
            }
            let color = isInk ? ink : ground
            return [color.0, color.1, color.2]
        }
        return try PixelBuffer(wrapping: pixels, width: 320, height: 320, format: .rgb8)
    }

    private static func catalog(in folder: TemporaryFolder) throws -> Catalog {
        for seed in UInt64(1)...12 {
            try folder.write(mark(seed, ink: black, ground: white).pngData(), to: "images/m\(seed).png")
        }
        _ = try CatalogIndexer(at: folder.file("catalog")).index(ImageSource.items(at: folder.file("images")).items)
        return try Catalog(at: folder.file("catalog"))
    }

    /// White on dark blue: its pages and a condition go with it. And dark red on light yellow.
    @Test func aMarkOnTheOtherGroundIsFound() async throws {
        let folder = try TemporaryFolder()
        let catalog = try Self.catalog(in: folder)
        var (found, wrong) = (0, 0)
        for seed in UInt64(1)...12 {
            let image = try Self.mark(seed, ink: Self.white, ground: (16, 30, 80))
            let query = try await catalog.query(for: image)
            let matches = try await catalog.search(query)
            wrong += matches.count { $0.id != "m\(seed)" }
            let page = try await catalog.search(query, options: SearchOptions(limit: 12, bounds: .none))
            #expect(page.count == 12)
            if matches.first?.id == "m\(seed)" {
                found += 1
                #expect(page.first?.id == "m\(seed)")
            }
            let others = SearchOptions(condition: .not(.isAnyOf(.id, ["m\(seed)"])))
            wrong += try await catalog.search(matching: image, options: others).count
            let dark = try Self.mark(seed, ink: (90, 20, 10), ground: (250, 240, 150))
            #expect(try await catalog.search(matching: dark).map(\.id) == ["m\(seed)"])
        }
        #expect(found >= 9 && wrong <= 2, "\(found) of 12 found, \(wrong) wrong")
    }

    /// With every budget a search that says it is complete has found the mark.
    @Test func aSearchWithoutTimeForTheNegativeIsIncomplete() async throws {
        let folder = try TemporaryFolder()
        let catalog = try Self.catalog(in: folder)
        let images = try (UInt64(1)...4).map { try Self.mark($0, ink: Self.white, ground: (16, 30, 80)) }
        var complete = 0
        for image in images {
            let whole = try await catalog.search(matching: image).map(\.id)
            for seconds in 0..<16 {
                let budget = TimeBudget(.seconds(seconds), clock: TimeBudgetTests.CountingClock())
                let query = try await catalog.query(for: image, options: SearchOptions(budget: budget))
                guard query.isComplete else { continue }
                complete += 1
                #expect(try await catalog.search(query).map(\.id) == whole, "\(seconds)")
            }
        }
        #expect(complete > 4)
    }
}
