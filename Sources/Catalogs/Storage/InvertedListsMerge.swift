import LocalFeatures

/// The inverted lists of a catalog, from those of an earlier state and those of the entities that changed since.
///
/// The result is the same as if all were built anew: within a list, features are in the order of their entities.
struct InvertedListsMerge {
    /// Lists of an earlier state.
    struct Earlier {
        let offsets: UnsafeBufferPointer<UInt64>
        let signatures: UnsafeBufferPointer<UInt64>
        let entities: UnsafeBufferPointer<UInt32>
        let featureCounts: UnsafeBufferPointer<UInt16>
        /// The new position of each entity; negative for one that was removed or changed.
        var moved: [Int32]
    }

    private(set) var offsets: [UInt64]
    private(set) var signatures: [UInt64]
    private(set) var entities: [UInt32]
    private(set) var featureCounts: [UInt16]

    /// - Parameters:
    ///   - builder: the lists of the entities that changed, by their index among these.
    ///   - changed: the position of each of these among all entities.
    init(_ builder: consuming InvertedListsBuilder, changed: [Int32], entityCount: Int, earlier: Earlier?) {
        guard let earlier else {
            // All entities changed, so indices are positions.
            (offsets, signatures) = (builder.offsets, builder.signatures)
            (entities, featureCounts) = (builder.images, builder.featureCounts)
            return
        }
        featureCounts = Array(repeating: 0, count: entityCount)
        for (index, position) in changed.enumerated() { featureCounts[Int(position)] = builder.featureCounts[index] }
        for (index, position) in earlier.moved.enumerated() where position >= 0 {
            featureCounts[Int(position)] = earlier.featureCounts[index]
        }
        let total = builder.signatures.count + earlier.entities.count
        (offsets, signatures, entities) = ([0], [], [])
        offsets.reserveCapacity(builder.offsets.count)
        signatures.reserveCapacity(total)
        entities.reserveCapacity(total)
        for word in 0..<(builder.offsets.count - 1) {
            var next = Int(builder.offsets[word])
            let end = Int(builder.offsets[word + 1])
            let (first, last) = (earlier.offsets[word], earlier.offsets[word + 1])
            // Offsets cannot be trusted if another program changes the file; the result is not used then.
            let known = first <= last && last <= earlier.entities.count ? Int(first)..<Int(last) : 0..<0
            for index in known {
                let entity = Int(earlier.entities[index])
                guard entity < earlier.moved.count, earlier.moved[entity] >= 0 else { continue }
                let position = earlier.moved[entity]
                while next < end, changed[Int(builder.images[next])] < position {
                    append(builder.signatures[next], of: changed[Int(builder.images[next])])
                    next += 1
                }
                append(earlier.signatures[index], of: position)
            }
            while next < end {
                append(builder.signatures[next], of: changed[Int(builder.images[next])])
                next += 1
            }
            offsets.append(UInt64(signatures.count))
        }
    }

    private mutating func append(_ signature: UInt64, of entity: Int32) {
        signatures.append(signature)
        entities.append(UInt32(entity))
    }
}
