import Catalogs
import FeaturePrints
import Foundation
import TestSupport
import Testing

/// Distances, and the boxes that an index looks up first.
struct GeoTests {
    /// The distance by the angle between the points' vectors: another formula than the one that is tested.
    static func kilometers(_ a: GeoPoint, _ b: GeoPoint) -> Double {
        func vector(_ point: GeoPoint) -> SIMD3<Double> {
            let (y, x) = (point.latitude / 180 * .pi, point.longitude / 180 * .pi)
            return SIMD3(cos(y) * cos(x), cos(y) * sin(x), sin(y))
        }
        let (u, v) = (vector(a), vector(b))
        let cross = SIMD3(u.y * v.z - u.z * v.y, u.z * v.x - u.x * v.z, u.x * v.y - u.y * v.x)
        return 6371.0088 * atan2((cross * cross).sum().squareRoot(), (u * v).sum())
    }

    @Test(arguments: [
        // A quarter of the equator and of a meridian; antipodes; across the 180th meridian; Vienna to Sydney.
        (0.0, 0.0, 0.0, 90.0, 10_007.557), (0, 0, 90, 123, 10_007.557), (10, 20, -10, -160, 20_015.115),
        (0, 179.5, 0, -179.5, 111.195), (48.2082, 16.3738, -33.8688, 151.2093, 15_975.739),
    ])
    func distances(_ y: Double, _ x: Double, _ otherY: Double, _ otherX: Double, kilometers: Double) {
        let (a, b) = (GeoPoint(latitude: y, longitude: x), GeoPoint(latitude: otherY, longitude: otherX))
        #expect(abs(a.kilometers(to: b) / kilometers - 1) < 1e-5)
        #expect(abs(a.kilometers(to: b) - Self.kilometers(a, b)) < 1e-3)
        #expect(a.kilometers(to: a) == 0)
    }

    private static func point(_ random: inout SeededGenerator) -> GeoPoint {
        // Poles and the 180th meridian are where boxes go wrong.
        let latitudes = [-90, 90, 89.99, -89.99, 0, Double.random(in: -90...90, using: &random)]
        let longitudes = [-180, 180, 179.99, -179.99, 0, Double.random(in: -180...180, using: &random)]
        return GeoPoint(
            latitude: latitudes.randomElement(using: &random) ?? 0,
            longitude: longitudes.randomElement(using: &random) ?? 0)
    }

    /// A point at a distance in any direction, by turning a vector.
    private static func point(_ kilometers: Double, from point: GeoPoint, _ random: inout SeededGenerator) -> GeoPoint {
        let (y, x) = (point.latitude / 180 * .pi, point.longitude / 180 * .pi)
        let (angle, bearing) = (kilometers / 6371.0088, Double.random(in: 0...(2 * .pi), using: &random))
        let up = SIMD3(cos(y) * cos(x), cos(y) * sin(x), sin(y))
        let (north, east) = (SIMD3(-sin(y) * cos(x), -sin(y) * sin(x), cos(y)), SIMD3(-sin(x), cos(x), 0))
        let along = up * cos(angle) + (north * cos(bearing) + east * sin(bearing)) * sin(angle)
        return GeoPoint(
            latitude: asin(max(-1, min(1, along.z))) / .pi * 180, longitude: atan2(along.y, along.x) / .pi * 180)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func aBoxHasAllThatIsNear(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let center = Self.point(&random)
            let radius = pow(10, Double.random(in: -3...4.3, using: &random))
            let box = center.box(kilometers: radius)
            let near = Self.point(radius * Double.random(in: 0...0.999_999, using: &random), from: center, &random)
            #expect(box.latitudes.contains(near.latitude), "seed \(seed): \(near) near \(center), \(radius) km")
            #expect(
                box.longitudes.contains { $0.contains(near.longitude) },
                "seed \(seed): \(near) near \(center), \(radius) km")
        }
    }

    @Test func aCatalogFindsWhatIsNear() async throws {
        let folder = try TemporaryFolder()
        let model = try CatalogFixture.model { _ in }
        let url = folder.url.appendingPathComponent("catalog")
        let indexer = try CatalogIndexer(at: url, model: model)
        let print = try model.featurePrint(for: SampleImage.blocks(seed: 1))
        var random = SeededGenerator(seed: 3)
        let points = (0..<400).map { _ in Self.point(&random) }
        let items = points.enumerated().map { index, point in
            IndexItem(
                CatalogEntity(
                    id: "\(index)", attributes: ["latitude": "\(point.latitude)", "longitude": "\(point.longitude)"]),
                image: .print(print))
        }
        #expect(try indexer.index(items).added == items.count)
        let catalog = try Catalog(at: url, model: model)
        for _ in 0..<200 {
            let center = Self.point(&random)
            let radius = pow(10, Double.random(in: -1...4.4, using: &random))
            let distances = points.map { Self.kilometers($0, center) }
            // What lies on the circle is on either side of it by rounding.
            guard !distances.contains(where: { abs($0 - radius) < 1e-6 }) else { continue }
            let found = try await catalog.entities(where: .within(kilometers: radius, of: center), limit: 1000)
            #expect(
                found.entities.map(\.id) == distances.indices.filter { distances[$0] <= radius }.map { "\($0)" },
                "\(radius) km around \(center)")
        }
    }
}
