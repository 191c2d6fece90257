import CKernels
import Compute
import Foundation

/// What an ``InvertedFileIndex`` holds besides the matrix, in memory of its own or mapped.
///
/// Unchecked: the pointers are only read through, and the initializer requires that the memory does not change.
package struct InvertedFileContents: @unchecked Sendable {
    /// Rotated, one per list. Keeps the owner of all the memory alive.
    let centroids: PrintMatrix
    /// The first block of each list, and the number of all blocks at the end.
    let starts: UnsafeBufferPointer<UInt32>
    /// The codes of each list.
    let counts: UnsafeBufferPointer<UInt32>
    /// The blocks of all lists: what `lk_select_binary_codes` reads.
    let blocks: UnsafeRawBufferPointer
    private let rotationRows: UnsafeBufferPointer<Float>
    /// What ``ListLimits`` reads, then the number of rows that the centroids were made from.
    private let numbers: UnsafeBufferPointer<UInt32>

    private static let numberCount = ListLimits.numberCount + 1

    /// The sizes of ``sections`` in bytes, and of their elements, besides the last, which has the blocks.
    package static func sectionSizes(dimension: Int, listCount: Int) -> [(stride: Int, count: Int)] {
        [
            (dimension * 4, dimension), (dimension * 4, listCount), (4, listCount), (dimension, listCount),
            (4, listCount), (4, listCount), (4, listCount + 1), (4, listCount), (4, numberCount),
        ]
    }

    /// The blocks that lists of any lengths can need.
    package static func blocks(rowCount: Int, listCount: Int, dimension: Int) -> (stride: Int, count: Int) {
        (
            BinaryCodes.byteCountOfBlock(dimension: dimension),
            rowCount / BinaryCodes.codesPerBlock + min(listCount, rowCount)
        )
    }

    /// - Parameters:
    ///   - sections: the rotation, the centroids with their squared norms, int8 codes, scales and residual norms, the
    ///     lists' first blocks and lengths, the numbers, and the blocks.
    ///   - owner: keeps the memory alive, which does not change.
    /// - Returns: nil if the sizes do not fit each other, or a number is none that a search can count with.
    package init?(
        dimension: Int, listCount: Int, sections: [UnsafeRawBufferPointer], owner: any AnyObject & Sendable
    ) {
        let sizes = Self.sectionSizes(dimension: dimension, listCount: listCount)
        guard dimension > 0, listCount > 0, sections.count == sizes.count + 1,
            zip(sizes, sections).allSatisfy({ $0.stride * $0.count == $1.count })
        else { return nil }
        func floats(_ index: Int) -> UnsafeBufferPointer<Float> { sections[index].bindMemory(to: Float.self) }
        func numbers(_ index: Int) -> UnsafeBufferPointer<UInt32> { sections[index].bindMemory(to: UInt32.self) }
        rotationRows = floats(0)
        centroids = PrintMatrix(
            rows: floats(1), squaredNorms: floats(2),
            quantized: QuantizedRows(
                codes: sections[3].bindMemory(to: UInt8.self), scales: floats(4), residualNorms: floats(5)),
            dimension: dimension, owner: owner)
        starts = numbers(6)
        counts = numbers(7)
        self.numbers = numbers(8)
        blocks = sections[9]
        guard starts[0] == 0, [0, 1, 2, 4, 5].allSatisfy({ floats($0).allSatisfy(\.isFinite) }),
            self.numbers.dropLast().allSatisfy({ Float(bitPattern: $0).isFinite }),
            Int(starts[listCount]) * BinaryCodes.byteCountOfBlock(dimension: dimension) <= blocks.count
        else { return nil }
        for list in 0..<listCount {
            guard starts[list] <= starts[list + 1] else { return nil }
            let places = Int(starts[list + 1] - starts[list]) * BinaryCodes.codesPerBlock
            guard Int(counts[list]) <= places else { return nil }
        }
    }

    /// All memory, as the initializer takes it. Valid as long as the contents.
    package var sections: [UnsafeRawBufferPointer] {
        [UnsafeRawBufferPointer(rotationRows)] + centroids.sections
            + [UnsafeRawBufferPointer(starts), UnsafeRawBufferPointer(counts), UnsafeRawBufferPointer(numbers), blocks]
    }

    /// The number of rows that the centroids were made from.
    package var trainedRowCount: Int { Int(numbers[Self.numberCount - 1]) }

    var dimension: Int { centroids.dimension }
    var columns: Int { BinaryCodes.columns(dimension: dimension) }
    var byteCountOfBlock: Int { BinaryCodes.byteCountOfBlock(dimension: dimension) }
    var rotation: Rotation { Rotation(dimension: dimension, rows: Array(rotationRows)) }
    fileprivate var allNumbers: [UInt32] { Array(numbers) }

    /// O(dimension²).
    func rotated(_ vector: [Float], kernels: SIMDTarget) -> [Float] {
        Rotation.apply(rotationRows, to: vector, kernels: kernels)
    }

    func count(ofList list: Int) -> Int { Int(counts[list]) }

    /// O(lists).
    fileprivate var rowCount: Int { counts.reduce(0) { $0 + Int($1) } }

    /// The first block of a list that has one.
    func blocks(ofList list: Int) -> UnsafeRawPointer {
        guard let base = blocks.baseAddress else { fatalError("a list with codes has blocks") }
        return base + Int(starts[list]) * byteCountOfBlock
    }

    /// Where a row's code is.
    struct Place {
        let list: UInt32
        let code: UInt32
    }

    private func block(of place: Place) -> UnsafeRawPointer {
        blocks(ofList: Int(place.list)) + Int(place.code) / BinaryCodes.codesPerBlock * byteCountOfBlock
    }

    /// The rows that the lists hold, in the lists' order. O(rows).
    package var rowsInLists: [UInt32] {
        (0..<centroids.rowCount).flatMap { list in
            (0..<count(ofList: list)).map { code in
                let place = Place(list: UInt32(list), code: UInt32(code))
                return UInt32(
                    BinaryCodes.row(block(of: place), place: code % BinaryCodes.codesPerBlock, columns: columns))
            }
        }
    }

    /// The place of each row; nil for one that no list has. O(rows).
    fileprivate func places(rowCount: Int) -> [Place?] {
        var places = [Place?](repeating: nil, count: rowCount)
        var next = rowsInLists.makeIterator()
        for list in 0..<centroids.rowCount {
            for code in 0..<count(ofList: list) {
                guard let row = next.next() else { return places }
                if row < rowCount { places[Int(row)] = Place(list: UInt32(list), code: UInt32(code)) }
            }
        }
        return places
    }

    fileprivate func code(at place: Place) -> (bytes: ArraySlice<UInt8>, factors: SIMD4<Float>) {
        let (block, index) = (block(of: place), Int(place.code) % BinaryCodes.codesPerBlock)
        let bytes = [UInt8](unsafeUninitializedCapacity: columns / 2) { buffer, count in
            buffer.initialize(repeating: 0)
            if let address = buffer.baseAddress {
                BinaryCodes.unpack(block, place: index, columns: columns, into: address)
            }
            count = columns / 2
        }
        return (bytes[...], BinaryCodes.factors(block, place: index, columns: columns))
    }

    /// When a search for so many neighbors stops. Four fifths of what may be missed may be in other lists: bounds from
    /// 1-bit codes that are not proved reject few rows that are much nearer than the last neighbor.
    ///
    /// - Parameter isOfNearest: whether they are the nearest of all rows.
    func limits(recall: Double, k: Int, isOfNearest: Bool) -> ListLimits {
        let share = 1 - (1 - min(max(recall, 0), 1)) * 0.8
        return ListLimits(
            numbers, share: share, k: k, isOfNearest: isOfNearest, listCount: centroids.rowCount)
    }
}

/// Makes the contents of an ``InvertedFileIndex``.
struct InvertedFileBuilder {
    let matrix: PrintMatrix
    let kernels: SIMDTarget
    let threads: Int
    let cancellation: Cancellation

    private static let seed: UInt64 = 20_240_609
    /// Rows per centroid in the sample; FAISS warns below 39.
    private static let sampleRowsPerList = 48
    private static let iterations = 8
    private static let largestListCount = 1 << 16
    /// Rows that stand for queries when the lists for a recall are measured.
    private static let queryCount = 1024
    /// The length of the shift beside that of the row, in turn. A photograph's print is about half as far from that of
    /// what it shows; the others stand for photographs of other things, and the last is random.
    private static let shifts: [Float] = [0.25, 0.5, 0.5, 0.5, 1, 1, 2, .infinity]
    /// Queries with at most this shift count for the mean number of lists.
    private static let nearShift: Float = 0.5
    /// The nearest rows of each query, and other rows, that are measured.
    private static let (measuredNeighbors, measuredOthers) = (256, 256)

    /// What is known of each row, in the matrix's order.
    private struct Encoded {
        var lists: [UInt32]
        var codes: [UInt8]
        var factors: [SIMD4<Float>]
    }

    private var dimension: Int { matrix.dimension }
    private var codeBytes: Int { BinaryCodes.columns(dimension: dimension) / 2 }

    func contents(listCount: Int?) -> InvertedFileContents {
        let count = min(max(1, listCount ?? defaultListCount), max(1, matrix.rowCount), Self.largestListCount)
        let rotation = Rotation(dimension: dimension, seed: Self.seed)
        let sample = sampleRows(min(matrix.rowCount, count * Self.sampleRowsPerList))
        let rotated = concurrentMap(sample.count, threads: threads) {
            self.rotated(sample[$0], by: rotation)
        }
        let centroids =
            rotated.isEmpty
            ? [Float](repeating: 0, count: dimension)
            : KMeans.centroids(
                count, of: rotated, iterations: Self.iterations, seed: Self.seed, simd: kernels, threads: threads,
                cancellation: cancellation)
        let memory = OwnedContents(
            rotation: rotation.rows, centroids: PrintMatrix(centroids, dimension: dimension))
        let encoded = encode(Array(0..<matrix.rowCount), centroids: memory.centroids, rotation: rotation)
        let limits = listLimits(lists: encoded.lists, centroids: memory.centroids, rotation: rotation)
        return memory.contents(lists: encoded.lists, numbers: limits + [UInt32(matrix.rowCount)]) { row in
            (encoded.codes[(row * codeBytes)..<((row + 1) * codeBytes)], encoded.factors[row])
        }
    }

    /// The contents for rows most of which are in `earlier`: `origins` has their rows there. With many new ones, limits
    /// are measured again.
    func contents(updating earlier: InvertedFileContents, origins: [UInt32?]) -> InvertedFileContents {
        require(origins.count == matrix.rowCount, "an origin per row, or nil")
        let rotation = earlier.rotation
        let memory = OwnedContents(rotation: rotation.rows, centroids: earlier.centroids)
        let places = earlier.places(rowCount: origins.reduce(0) { max($0, $1.map { Int($0) + 1 } ?? 0) })
        func place(_ row: Int) -> InvertedFileContents.Place? {
            origins[row].flatMap { Int($0) < places.count ? places[Int($0)] : nil }
        }
        let new = origins.indices.filter { place($0) == nil }
        let encoded = encode(new, centroids: memory.centroids, rotation: rotation)
        var lists = origins.indices.map { place($0)?.list ?? 0 }
        for (index, row) in new.enumerated() { lists[row] = encoded.lists[index] }
        var numbers = earlier.allNumbers
        // Rows of another kind may be farther from all centroids.
        if new.count * 32 > matrix.rowCount || Self.step(earlier.rowCount) != Self.step(matrix.rowCount) {
            let limits = listLimits(lists: lists, centroids: memory.centroids, rotation: rotation)
            numbers.replaceSubrange(..<limits.count, with: limits)
        }
        var nextNew = 0
        return memory.contents(lists: lists, numbers: numbers) { row in
            if let place = place(row) { return earlier.code(at: place) }
            defer { nextNew += 1 }
            return (
                encoded.codes[(nextNew * codeBytes)..<((nextNew + 1) * codeBytes)], encoded.factors[nextNew]
            )
        }
    }

    /// Limits are measured again from one step to the next, which has 2 % more rows.
    private static func step(_ rowCount: Int) -> Int { Int(log2(Double(max(rowCount, 1))) * 32) }

    private var defaultListCount: Int {
        let root = 2 * Double(matrix.rowCount).squareRoot()
        return 1 << max(0, Int(log2(max(root, 1)).rounded()))
    }

    /// Different rows, spread over the matrix.
    private func sampleRows(_ count: Int) -> [Int] {
        guard count > 0 else { return [] }
        var random = SplitMix64(state: Self.seed)
        return (0..<count).map { part in
            let first = matrix.rowCount * part / count
            let end = max(first + 1, matrix.rowCount * (part + 1) / count)
            return Int.random(in: first..<end, using: &random)
        }
    }

    private func rotated(_ row: Int, by rotation: Rotation) -> [Float] {
        matrix.withFloats(row..<(row + 1), kernels: kernels) { rotation.apply(to: $0, kernels: kernels) }
    }

    private func encode(_ rows: [Int], centroids: PrintMatrix, rotation: Rotation) -> Encoded {
        let perPart = 1024
        let parts = stride(from: 0, to: rows.count, by: perPart).map { $0..<min($0 + perPart, rows.count) }
        let codeBytes = codeBytes
        let encoded = concurrentMap(parts.count, threads: threads) { part -> Encoded in
            let range = parts[part]
            guard !cancellation.isCancelled else {
                return Encoded(
                    lists: Array(repeating: 0, count: range.count),
                    codes: Array(repeating: 0, count: range.count * codeBytes),
                    factors: Array(repeating: .zero, count: range.count))
            }
            let rotated = range.map { self.rotated(rows[$0], by: rotation) }
            let lists = KMeans.assignments(rotated, to: centroids, simd: kernels, threads: 1)
            var codes = [UInt8](repeating: 0, count: range.count * codeBytes)
            let factors = codes.withUnsafeMutableBufferPointer { codes -> [SIMD4<Float>] in
                guard let codes = codes.baseAddress else { return [] }
                return rotated.indices.map { index in
                    centroids.withFloats(lists[index]..<(lists[index] + 1)) {
                        BinaryCodes.encode(rotated[index], centroid: $0, into: codes + index * codeBytes)
                    }
                }
            }
            return Encoded(lists: lists.map { UInt32($0) }, codes: codes, factors: factors)
        }
        var all = Encoded(lists: [], codes: [], factors: [])
        all.lists.reserveCapacity(rows.count)
        all.codes.reserveCapacity(rows.count * codeBytes)
        all.factors.reserveCapacity(rows.count)
        for part in encoded {
            all.lists += part.lists
            all.codes += part.codes
            all.factors += part.factors
        }
        return all
    }

    /// A query for a row: the row with the difference of two others, or with noise if the shift is infinite.
    private func query(near row: Int, _ other: Int, _ another: Int, shift: Float) -> [Float] {
        let vector = matrix.row(row)
        var random = SplitMix64(state: UInt64(row))
        let isRandom = shift == .infinity
        let difference =
            isRandom
            ? vector.map { _ in Float(random.normal()) } : zip(matrix.row(other), matrix.row(another)).map { $0 - $1 }
        let (length, differenceLength) = (Self.norm(vector), Self.norm(difference))
        guard length > 0, differenceLength > 0 else { return vector }
        let part = (isRandom ? 1 : shift) * length / differenceLength
        let shifted = zip(vector, difference).map { (isRandom ? 0 : $0) + part * $1 }
        let scale = length / Self.norm(shifted)
        return scale.isFinite ? shifted.map { $0 * scale } : vector
    }

    private static func norm(_ vector: [Float]) -> Float { vector.reduce(0) { $0 + $1 * $1 }.squareRoot() }

    /// The numbers of ``ListLimits``, by the lists that hold the nearest neighbors of some queries.
    private func listLimits(lists: [UInt32], centroids: PrintMatrix, rotation: Rotation) -> [UInt32] {
        let sample = sampleRows(min(3 * Self.queryCount, matrix.rowCount / 3 * 3))
        let count = sample.count / 3
        let shifts = (0..<count).map { Self.shifts[$0 % Self.shifts.count] }
        // Near rows all over the matrix, whose order may be that of their kinds; the others a third of it apart.
        let queries = (0..<count).map { index in
            let rows = (0..<3).map { sample[(3 * index + $0 * count) % sample.count] }
            return query(near: rows[0], rows[1], rows[2], shift: shifts[index])
        }
        let search = ExactSearch(matrix, simd: kernels)
        let found = search.nearest(
            toEach: queries, k: Self.measuredNeighbors, threads: threads, cancellation: cancellation)
        let others = sampleRows(min(Self.measuredOthers, matrix.rowCount)).map { $0..<($0 + 1) }
        let nearestLists = ExactSearch(centroids, simd: kernels)
        let measured = concurrentMap(queries.count, threads: threads) { query -> ListLimits.Measured in
            let rotated = rotation.apply(to: queries[query], kernels: kernels)
            let nearest = nearestLists.nearest(to: rotated, k: centroids.rowCount, threads: 1)
            var distances = [Float](repeating: 0, count: centroids.rowCount)
            for list in nearest { distances[list.row] = list.squaredDistance }
            func pair(_ neighbor: Neighbor) -> ListLimits.Pair {
                (neighbor.squaredDistance, distances[Int(lists[neighbor.row])])
            }
            return ListLimits.Measured(
                lists: nearest.map(\.squaredDistance), neighbors: found[query].map(pair),
                others: search.nearest(toAnyOf: [queries[query]], k: others.count, among: others, threads: 1)
                    .map(pair),
                isNear: shifts[query] <= Self.nearShift)
        }
        return ListLimits.numbers(of: measured)
    }
}

/// Contents in memory of their own.
///
/// Unchecked: everything is filled before ``contents`` is read, and only read afterwards.
private final class OwnedContents: @unchecked Sendable {
    let centroids: PrintMatrix
    let rotation: [Float]
    private var memory: [UnsafeMutableRawBufferPointer] = []

    init(rotation: [Float], centroids: PrintMatrix) { (self.rotation, self.centroids) = (rotation, centroids) }

    /// Puts the codes of all rows into the blocks of their lists, in the rows' order.
    ///
    /// - Parameters:
    ///   - lists: the list of each row.
    ///   - numbers: as ``InvertedFileContents`` has them.
    ///   - code: the code of a row, and its factors.
    func contents(
        lists: [UInt32], numbers: [UInt32], code: (Int) -> (bytes: ArraySlice<UInt8>, factors: SIMD4<Float>)
    ) -> InvertedFileContents {
        let (dimension, listCount) = (centroids.dimension, centroids.rowCount)
        let columns = BinaryCodes.columns(dimension: dimension)
        let perBlock = BinaryCodes.codesPerBlock
        var counts = [UInt32](repeating: 0, count: listCount)
        for list in lists { counts[Int(list)] += 1 }
        var starts: [UInt32] = [0]
        for count in counts { starts.append((starts.last ?? 0) + (count + UInt32(perBlock) - 1) / UInt32(perBlock)) }
        rotation.withUnsafeBytes { add($0) }
        for section in centroids.sections { add(section) }
        for section in [starts, counts, numbers] { section.withUnsafeBytes { add($0) } }
        let size = InvertedFileContents.blocks(rowCount: lists.count, listCount: listCount, dimension: dimension)
        let blocks = UnsafeMutableRawBufferPointer.allocate(byteCount: size.stride * size.count, alignment: 64)
        blocks.initializeMemory(as: UInt8.self, repeating: 0)
        memory.append(blocks)
        var next = [Int](repeating: 0, count: listCount)
        for row in lists.indices {
            let list = Int(lists[row])
            let place = next[list]
            next[list] += 1
            let (bytes, factors) = code(row)
            bytes.withUnsafeBufferPointer { bytes in
                guard let bytes = bytes.baseAddress, let base = blocks.baseAddress else { return }
                BinaryCodes.pack(
                    bytes, factors: factors, row: UInt32(row),
                    into: base + (Int(starts[list]) + place / perBlock) * size.stride, place: place % perBlock,
                    columns: columns)
            }
        }
        guard
            let contents = InvertedFileContents(
                dimension: dimension, listCount: listCount, sections: memory.map { UnsafeRawBufferPointer($0) },
                owner: self)
        else { fatalError("contents that were just made fit each other") }
        return contents
    }

    private func add(_ bytes: UnsafeRawBufferPointer) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 64)
        copy.copyMemory(from: bytes)
        memory.append(copy)
    }

    deinit { for section in memory { section.deallocate() } }
}
