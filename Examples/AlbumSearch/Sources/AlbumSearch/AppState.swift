import VisualSearch

/// The screens of the app, here lines on standard output.
actor AppState {
    func openAlbum(id: String) { print("app        shows the album “\(id)”") }

    func openConcert(id: String) { print("app        shows the concert “\(id)”") }

    func openSearch(albums: [AlbumEntity], concerts: [ConcertEntity]) {
        print("app        shows its search with \(albums.count) album(s) and \(concerts.count) concert(s)")
    }
}
