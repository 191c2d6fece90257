// What the text of the article assumes.
import Foundation
import VisualSearch

actor AppState {
    func openAlbum(id: String) {}
}

let albums: EntityCatalog<AlbumEntity> = assumed()
let content: SemanticContentDescriptor = assumed()
nonisolated(unsafe) var list: [AlbumEntity] = []
