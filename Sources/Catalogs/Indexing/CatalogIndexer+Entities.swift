import Compute

extension CatalogIndexer {
    /// Indexes the items of a sequence as they come: new ones, those whose image or metadata changed, and those that
    /// lack local features. An id that comes again replaces the one before.
    ///
    /// ```swift
    /// let (items, continuation) = AsyncStream.makeStream(of: IndexItem.self)
    /// for try await report in indexer.index(items) { show(report.processed) }
    /// ```
    ///
    /// An image that cannot be read is reported, and the others are indexed; its entity stays as it was.
    /// - Parameter jobs: the number of threads; those that have nothing else to do by default.
    /// - Returns: the run, which is done by iterating it or by ``IndexRun/report()``.
    public func index<Items: AsyncSequence>(_ items: Items, jobs: Int? = nil) -> IndexRun<Items>
    where Items.Element == IndexItem {
        IndexRun(indexer: self, items: items, jobs: jobs)
    }

    /// The same for items that are there already; as `index(_:jobs:timings:progress:)`, without keeping the thread of
    /// the calling task.
    ///
    /// ```swift
    /// let report = try await indexer.run(over: items).report()
    /// ```
    public func run(over items: [IndexItem], jobs: Int? = nil) -> IndexRun<IndexItemList> {
        IndexRun(indexer: self, items: IndexItemList(items: items), jobs: jobs)
    }

    /// Adds an entity, or replaces it. It is searchable when this returns, in catalogs that are open too.
    ///
    /// - Throws: ``IndexProblem`` if the image cannot be used, ``CatalogError`` if the catalog cannot be written, and
    ///   `CancellationError`. The catalog is then unchanged, except where its derived files cannot be written, as
    ///   on a full disk: then the entity is stored, and searchable when the catalog is next opened.
    /// - Complexity: O(entities), since the derived files are written again: 0.1 s for 100,000. For many entities use
    ///   ``index(_:jobs:)``.
    public func upsert(_ item: IndexItem) async throws {
        try await executor.compute { _ in
            var pipeline = IndexPipeline(indexer: self, jobs: nil)
            _ = try pipeline.add(item)
            while try pipeline.flush() {}
            if let problem = pipeline.report.problems.first { throw problem }
            _ = try pipeline.end()
        }
    }

    /// Replaces the metadata of an entity: type, title, subtitle, labels and attributes. Its image stays what was
    /// indexed.
    ///
    /// - Throws: ``CatalogError``, with the reason `unknownEntities` if the catalog has no entity of that id;
    ///   ``IndexProblem`` for text with a NUL character; and `CancellationError`.
    /// - Complexity: O(log entities).
    public func update(_ entity: CatalogEntity) async throws { try await update(entity.id) { $0 = entity } }

    /// Changes the metadata of an entity: type, title, subtitle, labels and attributes. What other tasks or processes
    /// changed before is kept.
    ///
    /// ```swift
    /// try await indexer.update("blue-train") { $0.labels.append("jazz") }
    /// ```
    ///
    /// - Parameter change: receives the entity as it is stored. Its id and image stay as they are.
    /// - Throws: what `change` throws; ``CatalogError``, with the reason `unknownEntities` if the catalog has no entity
    ///   of that id; ``IndexProblem`` for text with a NUL character; and `CancellationError`. The entity is as before
    ///   then.
    /// - Complexity: O(log entities).
    public func update(_ id: String, by change: @Sendable (inout CatalogEntity) throws -> Void) async throws {
        try await executor.compute { _ in try turn.withLock { _ in try store.update(id, by: change) } }
    }

    /// Removes an entity. It is found no longer when this returns, in catalogs that are open too.
    ///
    /// - Throws: ``CatalogError``, with the reason `unknownEntities` if the catalog has no entity of that id; and
    ///   `CancellationError`.
    /// - Complexity: O(entities), as for ``upsert(_:)``.
    public func remove(_ id: String) async throws { try await executor.compute { _ in try remove([id]) } }
}
