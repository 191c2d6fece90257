#if SystemStores
import Foundation

/// What an export had when it was read: where ``HealthExport/changes(since:)`` goes on. Codable, to keep it between
/// runs; eight bytes per reading.
public struct HealthAnchor: Sendable, Hashable, Codable {
    /// The types that are followed; nil for all.
    let types: Set<HealthType>?
    let stamp: ExportStamp
    /// The samples' ids, ascending, as little-endian numbers.
    let ids: Data

    init(types: Set<HealthType>?, stamp: ExportStamp, ids: [UInt64]) {
        self.types = types
        self.stamp = stamp
        self.ids = ids.withUnsafeBufferPointer { numbers in
            var data = Data(capacity: numbers.count * 8)
            for number in numbers { withUnsafeBytes(of: number.littleEndian) { data.append(contentsOf: $0) } }
            return data
        }
    }

    /// - Throws: ``StoreProblem`` for an anchor that was damaged.
    func sortedIDs() throws(StoreProblem) -> [UInt64] {
        guard ids.count % 8 == 0 else { throw damaged }
        let numbers = ids.withUnsafeBytes { bytes in
            (0..<(bytes.count / 8)).map {
                UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self))
            }
        }
        guard zip(numbers, numbers.dropFirst()).allSatisfy({ $0 < $1 }) else { throw damaged }
        return numbers
    }

    private var damaged: StoreProblem {
        StoreProblem(subject: "the anchor", reason: "is damaged; make a new one")
    }
}

/// Tells one export from the next without reading it.
struct ExportStamp: Sendable, Hashable, Codable {
    let size: Int
    let modified: Date
    let inode: Int

    init(of file: URL) throws(StoreProblem) {
        do {
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            size = attributes[.size] as? Int ?? 0
            modified = attributes[.modificationDate] as? Date ?? .distantPast
            inode = attributes[.systemFileNumber] as? Int ?? 0
        } catch {
            throw StoreProblem(subject: file.path, reason: "cannot be read: \((error as NSError).localizedDescription)")
        }
    }
}

/// The difference between an export and an earlier one.
public struct HealthChanges: Sendable {
    /// Samples that were not there; a changed one is deleted and added.
    public let added: [HealthSample]
    /// The ids of samples that are no longer there.
    public let deleted: [HealthSample.ID]
    /// The anchor for the next call.
    public let anchor: HealthAnchor
    /// Records that cannot be read, which count as not there.
    public let problems: [StoreProblem]
}

extension HealthExport {
    /// The anchor of the readings that the export has now. Later changes are counted from it.
    ///
    /// - Parameter types: the types to follow; nil for all.
    /// - Throws: ``StoreProblem`` for an export that is not whole, and `CancellationError`.
    public func anchor(of types: Set<HealthType>? = nil) async throws -> HealthAnchor {
        try await read(types: types, known: nil).anchor
    }

    /// What was added and deleted since an anchor, of the anchor's types. An export that was not replaced since then is
    /// not read.
    ///
    /// O(samples of the types) time and eight bytes of memory for each, and the added samples.
    /// - Throws: ``StoreProblem`` for a damaged anchor, and for an export that is not whole or is replaced meanwhile:
    ///   what is missing in it was not deleted. `CancellationError`.
    public func changes(since anchor: HealthAnchor) async throws -> HealthChanges {
        let known = try anchor.sortedIDs()
        if try ExportStamp(of: file) == anchor.stamp {
            return HealthChanges(added: [], deleted: [], anchor: anchor, problems: [])
        }
        return try await read(types: anchor.types, known: known)
    }

    private func read(types: Set<HealthType>?, known: [UInt64]?) async throws -> HealthChanges {
        let stamp = try ExportStamp(of: file)
        let reported = ReportedProblems()
        let reader = HealthSampleReader(file: file, selection: HealthSelection(types: types)) {
            reported.problems.append($0)
        }
        var ids: [UInt64] = []
        var added: [HealthSample] = []
        var isThere = [Bool](repeating: false, count: known?.count ?? 0)
        while let sample = try await reader.next() {
            ids.append(sample.id)
            guard let known else { continue }
            if let index = known.sortedIndex(of: sample.id) { isThere[index] = true } else { added.append(sample) }
        }
        guard try ExportStamp(of: file) == stamp else {
            throw StoreProblem(subject: file.path, reason: "was replaced while it was read; read it again")
        }
        ids.sort()
        let deleted = zip(known ?? [], isThere).filter { !$1 }.map(\.0)
        return HealthChanges(
            added: added, deleted: deleted,
            anchor: HealthAnchor(types: types, stamp: stamp, ids: ids.withoutRepetitions()),
            problems: reported.problems)
    }
}

private final class ReportedProblems {
    var problems: [StoreProblem] = []
}

extension [UInt64] {
    /// The index of a number in an ascending list; nil if the list does not have it.
    fileprivate func sortedIndex(of number: UInt64) -> Int? {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < number { low = middle + 1 } else { high = middle }
        }
        return low < count && self[low] == number ? low : nil
    }

    /// The different numbers of an ascending list.
    fileprivate func withoutRepetitions() -> [UInt64] {
        reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }
}
#endif
