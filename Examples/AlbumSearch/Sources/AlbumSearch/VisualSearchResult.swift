#if canImport(AppIntents)
    import AppIntents
#else
    import VisualSearchMacros
#endif

/// What one visual search gives: albums, then concerts.
@UnionValue
enum VisualSearchResult {
    case album(AlbumEntity)
    case concert(ConcertEntity)
}
