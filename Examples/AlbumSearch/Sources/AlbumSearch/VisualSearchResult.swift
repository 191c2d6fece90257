#if canImport(AppIntents)
    import AppIntents
#else
    import VisualSearchMacros
#endif

/// A result of a visual search: albums come first, then concerts.
@UnionValue
enum VisualSearchResult {
    case album(AlbumEntity)
    case concert(ConcertEntity)
}
