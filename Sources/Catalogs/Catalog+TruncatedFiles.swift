import CMappedFiles

extension Catalog {
    /// Lets a search throw if another program truncates a derived file of the catalog meanwhile.
    ///
    /// Catalogs map their derived files into memory. The package replaces these by renaming; another program might
    /// truncate one in place, as copying over it does. Reading what is missing raises SIGBUS, which ends the process.
    /// After this call it does not: the search throws ``CatalogError``, and the next one makes the file again.
    ///
    /// ```swift
    /// Catalog.handleTruncatedFiles()
    /// ```
    ///
    /// Call it once, at the start of a program. It installs a signal handler for the whole process, so a library should
    /// leave it to the program. The handler passes on every SIGBUS that has another cause.
    ///
    /// - Returns: false if the system refuses the handler.
    @discardableResult
    public static func handleTruncatedFiles() -> Bool { lk_handle_missing_pages() }
}
