import Foundation

/// The coordinates of matches in columns, so that eight matches are checked at a time.
struct MatchTable {
    private typealias Lanes = SIMD8<Float>

    private let count: Int
    private let queryX: [Float]
    private let queryY: [Float]
    private let catalogX: [Float]
    private let catalogY: [Float]
    /// The query's scale over the catalog's.
    private let scales: [Float]
    private let angles: [Float]

    init(_ matches: [FeatureMatch]) {
        count = matches.count
        // Padding lanes are far away from every point.
        let padding = (matches.count + Lanes.scalarCount - 1) / Lanes.scalarCount * Lanes.scalarCount - matches.count
        func column(_ value: (FeatureMatch) -> Float) -> [Float] {
            matches.map(value) + Array(repeating: 1e9, count: padding)
        }
        queryX = column { $0.query.x }
        queryY = column { $0.query.y }
        catalogX = column { $0.catalog.x }
        catalogY = column { $0.catalog.y }
        scales = column { $0.query.scale / $0.catalog.scale }
        angles = column { $0.query.angle - $0.catalog.angle }
    }

    /// A map that scales, turns and moves.
    struct Similarity {
        let scale: Float
        let cosine: Float
        let sine: Float
        let x: Float
        let y: Float
    }

    /// The similarity that takes a match's catalog keypoint to its query keypoint.
    func similarity(of index: Int) -> Similarity {
        let scale = scales[index]
        let (cosine, sine) = (scale * cos(angles[index]), scale * sin(angles[index]))
        return Similarity(
            scale: scale, cosine: cosine, sine: sine,
            x: queryX[index] - cosine * catalogX[index] + sine * catalogY[index],
            y: queryY[index] - sine * catalogX[index] - cosine * catalogY[index])
    }

    /// The number of matches within a tolerance of a similarity, in place and scale.
    func support(of similarity: Similarity, tolerance: Float, scales range: ClosedRange<Float>) -> Int {
        var total = SIMD8<Int32>.zero
        for start in stride(from: 0, to: queryX.count, by: Lanes.scalarCount) {
            total.replace(
                with: total &+ 1, where: isSupported(start, by: similarity, tolerance: tolerance, scales: range))
        }
        return Int(total.wrappedSum())
    }

    /// The matches that ``support(of:tolerance:scales:)`` counts.
    func supporters(of similarity: Similarity, tolerance: Float, scales range: ClosedRange<Float>) -> [Int] {
        stride(from: 0, to: queryX.count, by: Lanes.scalarCount).flatMap { start in
            let mask = isSupported(start, by: similarity, tolerance: tolerance, scales: range)
            return (0..<Lanes.scalarCount).filter { mask[$0] }.map { start + $0 }
        }
    }

    @inline(__always)
    private func isSupported(
        _ start: Int, by map: Similarity, tolerance: Float, scales range: ClosedRange<Float>
    ) -> SIMDMask<SIMD8<Int32>> {
        func lanes(_ column: [Float]) -> Lanes {
            column.withUnsafeBytes {
                $0.loadUnaligned(fromByteOffset: start * MemoryLayout<Float>.stride, as: Lanes.self)
            }
        }
        let (x, y) = (lanes(catalogX), lanes(catalogY))
        let across = map.cosine * x - map.sine * y + map.x - lanes(queryX)
        let down = map.sine * x + map.cosine * y + map.y - lanes(queryY)
        let scale = lanes(scales)
        let isNear = (across * across + down * down) .< (tolerance * tolerance)
        return isNear .& (scale .> range.lowerBound * map.scale) .& (scale .< range.upperBound * map.scale)
    }
}
