import CMappedFiles

extension Catalog {
    /// Lets a search throw if another program truncates a derived file of the catalog meanwhile.
    ///
    /// Catalogs map their derived files into memory. The package replaces these by renaming; another program might
    /// truncate one in place, as copying over it does. Reading what is missing raises SIGBUS, which ends the process.
    /// After this call the search throws ``CatalogError`` instead, and the next one opens the file again, makes it
    /// again, or makes its contents in memory. The same happens if the disk cannot read a page.
    ///
    /// ```swift
    /// Catalog.handleTruncatedFiles()
    /// ```
    ///
    /// Call it once, at the start of a program. It installs a signal handler for the whole process, so a library should
    /// leave it to the program. Up to 4,096 open derived files are covered. Every other SIGBUS goes to the handler that
    /// was installed before.
    ///
    /// - Returns: false if the system refuses the handler.
    @discardableResult
    public static func handleTruncatedFiles() -> Bool { lk_handle_missing_pages() }
}
