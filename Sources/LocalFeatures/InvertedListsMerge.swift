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
        var (changed, divided, kept, list) = (Features(), Features(), Features(), Features())
        var ends = [Int](repeating: 0, count: partCount)
        for word in 0..<wordCount {
            readChanged(word, into: &changed)
            divide(changed, into: &divided, ends: &ends)
            for part in 0..<partCount {
                kept.removeAll()
                earlier?.readFeatures(
                    ofList: word * partCount + part, images: &kept.images, signatures: &kept.signatures)
                list.removeAll()
                merge(kept, divided, (part == 0 ? 0 : ends[part - 1])..<ends[part], into: &list)
                try body(list.images, list.signatures)
            }
        }
    }

    /// The features of a word, of all runs.
    private func readChanged(_ word: Int, into features: inout Features) {
        features.removeAll()
        for run in runs {
            for place in Int(run.offsets[word])..<Int(run.offsets[word + 1]) {
                features.images.append(positions[Int(run.images[place])])
                features.signatures.append(run.signatures[place])
            }
        }
    }

    /// Sorts features by the first bits of their signatures, and else leaves their order.
    private func divide(_ features: Features, into divided: inout Features, ends: inout [Int]) {
        guard divisionBits > 0 else {
            divided = features
            ends[0] = features.images.count
            return
        }
        let mask = UInt32(1) << UInt32(divisionBits) - 1
        for part in ends.indices { ends[part] = 0 }
        for signature in features.signatures { ends[Int(signature & mask)] += 1 }
        var sum = 0
        for part in ends.indices { (ends[part], sum) = (sum, sum + ends[part]) }
        divided = features
        for (image, signature) in zip(features.images, features.signatures) {
            let part = Int(signature & mask)
            (divided.images[ends[part]], divided.signatures[ends[part]]) = (image, signature)
            ends[part] += 1
        }
    }

    /// Features that are still there and features that are new, by image.
    private func merge(_ kept: Features, _ new: Features, _ range: Range<Int>, into list: inout Features) {
        var next = range.lowerBound
        func append(_ place: Int, of features: Features, at position: UInt32, to list: inout Features) {
            list.images.append(position)
            list.signatures.append(features.signatures[place])
        }
        for (place, image) in kept.images.enumerated() where moved[Int(image)] >= 0 {
            let position = UInt32(moved[Int(image)])
            while next < range.upperBound, new.images[next] < position {
                append(next, of: new, at: new.images[next], to: &list)
                next += 1
            }
            append(place, of: kept, at: position, to: &list)
        }
        for place in next..<range.upperBound { append(place, of: new, at: new.images[place], to: &list) }
    }
}
