/// The inverted lists of images, from those of an earlier state and from the runs of the images that changed since.
///
/// The result is the same as if all were built anew: within a list, features are in the order of their images. Lists
/// are merged each time that they are read, so that no more than one word's are in memory.
package struct InvertedListsMerge {
    /// A run in memory that `owner` keeps and nobody writes.
    package struct StoredRun {
        let offsets: UnsafeBufferPointer<UInt64>
        let images: UnsafeBufferPointer<UInt32>
        let signatures: UnsafeBufferPointer<UInt32>
        private let owner: AnyObject

        package init(
            offsets: UnsafeBufferPointer<UInt64>, images: UnsafeBufferPointer<UInt32>,
            signatures: UnsafeBufferPointer<UInt32>, owner: AnyObject
        ) {
            precondition(offsets.last.map { $0 == images.count && $0 == signatures.count } == true)
            (self.offsets, self.images, self.signatures, self.owner) = (offsets, images, signatures, owner)
        }
    }

    /// Features of one list.
    private struct Features {
        var images: [UInt32] = []
        var signatures: [UInt32] = []

        mutating func append(_ image: UInt32, _ signature: UInt32) {
            images.append(image)
            signatures.append(signature)
        }

        mutating func removeAll() {
            images.removeAll(keepingCapacity: true)
            signatures.removeAll(keepingCapacity: true)
        }
    }

    private let runs: [StoredRun]
    /// The position of each changed image among all images.
    private let positions: [UInt32]
    private let earlier: InvertedLists?
    /// The new position of each image of the earlier lists; negative for one that was removed or changed.
    private let moved: [Int32]
    private let wordCount: Int
    private let divisionBits: Int
    /// Where each list starts, and the end of the last.
    package private(set) var offsets: [UInt64] = [0]
    /// The number of features of each image.
    package private(set) var featureCounts: [UInt16]

    package var shape: InvertedListsShape {
        InvertedListsShape(
            listCount: offsets.count - 1, imageCount: featureCounts.count, featureCount: Int(offsets.last ?? 0))
    }

    /// O(features).
    ///
    /// - Parameters:
    ///   - runs: those of the images that changed, in their order.
    ///   - changedCounts: the number of features of each of these images.
    ///   - positions: the position of each of them among all images, ascending.
    ///   - earlier: lists of an earlier state, of which each image that did not change has a position in `moved`. They
    ///     are divided by as many bits.
    ///   - divisionBits: the number of first bits of the signatures that divide the list of each word.
    package init(
        runs: [StoredRun], changedCounts: [UInt16], positions: [UInt32], earlier: InvertedLists?, moved: [Int32],
        imageCount: Int, wordCount: Int, divisionBits: Int
    ) {
        (self.runs, self.positions, self.earlier, self.moved) = (runs, positions, earlier, moved)
        (self.wordCount, self.divisionBits) = (wordCount, divisionBits)
        featureCounts = Array(repeating: 0, count: imageCount)
        for (position, count) in zip(positions, changedCounts) { featureCounts[Int(position)] = count }
        if let earlier {
            for (image, position) in moved.enumerated() where position >= 0 {
                featureCounts[Int(position)] = earlier.featureCount(of: image)
            }
        }
        var ends: [UInt64] = [0]
        ends.reserveCapacity(wordCount << divisionBits + 1)
        var total: UInt64 = 0
        forEachList { images, _ in
            total += UInt64(images.count)
            ends.append(total)
        }
        offsets = ends
    }

    /// Calls `body` with the images and the signatures of each list. O(features).
    package func forEachList(_ body: (_ images: [UInt32], _ signatures: [UInt32]) throws -> Void) rethrows {
        let partCount = 1 << divisionBits
        var (new, kept, list) = (Features(), Features(), Features())
        for word in 0..<wordCount {
            addChangedFeatures(of: word, to: &new)
            // Most words of a small catalog.
            if new.images.isEmpty,
                earlier.map({ $0.areEmpty((word * partCount)..<((word + 1) * partCount)) }) ?? true
            {
                for _ in 0..<partCount { try body([], []) }
                continue
            }
            let (changed, ends) = divided(new)
            new.removeAll()
            for part in 0..<partCount {
                kept.removeAll()
                earlier?.readFeatures(
                    ofList: word * partCount + part, images: &kept.images, signatures: &kept.signatures)
                list.removeAll()
                merge(kept, changed, ends[part]..<ends[part + 1], into: &list)
                try body(list.images, list.signatures)
            }
        }
    }

    /// Adds the features of a word, of all runs.
    private func addChangedFeatures(of word: Int, to features: inout Features) {
        for run in runs {
            for place in Int(run.offsets[word])..<Int(run.offsets[word + 1]) {
                features.append(positions[Int(run.images[place])], run.signatures[place])
            }
        }
    }

    /// Features by the first bits of their signatures, and else in the same order; where each part starts, and the end
    /// of the last.
    private func divided(_ features: Features) -> (features: Features, offsets: [Int]) {
        guard divisionBits > 0 else { return (features, [0, features.images.count]) }
        let mask = UInt32(1) << UInt32(divisionBits) - 1
        var offsets = [Int](repeating: 0, count: 1 << divisionBits + 1)
        for signature in features.signatures { offsets[Int(signature & mask) + 1] += 1 }
        for part in 1..<offsets.count { offsets[part] += offsets[part - 1] }
        var (sorted, next) = (features, offsets)
        for (image, signature) in zip(features.images, features.signatures) {
            let part = Int(signature & mask)
            (sorted.images[next[part]], sorted.signatures[next[part]]) = (image, signature)
            next[part] += 1
        }
        return (sorted, offsets)
    }

    /// Features that are still there and features that are new, by image.
    private func merge(_ kept: Features, _ new: Features, _ range: Range<Int>, into list: inout Features) {
        var next = range.lowerBound
        for (image, signature) in zip(kept.images, kept.signatures) where moved[Int(image)] >= 0 {
            let position = UInt32(moved[Int(image)])
            while next < range.upperBound, new.images[next] < position {
                list.append(new.images[next], new.signatures[next])
                next += 1
            }
            list.append(position, signature)
        }
        for place in next..<range.upperBound { list.append(new.images[place], new.signatures[place]) }
    }
}
