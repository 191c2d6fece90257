import ContactPhotos
import Foundation
import Lookalike
import SystemStores

func people(in photo: PixelBuffer, of contacts: [Contact], at folder: URL) async throws -> [String] {
    let photos = try ContactPhotoCatalog(at: folder)
    for problem in try photos.update(with: contacts) { print(problem) }
    return try await photos.search(matching: photo).map(\.id)
}
