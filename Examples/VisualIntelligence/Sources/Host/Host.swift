import AppIntents
import Foundation
import Landmarks
import Music
import Pictures
import VisualIntelligence
import VisualSearchHost

/// Runs the two programs in the host, which plays the system: a visual search of a picture, in the terminal and as a
/// web page.
///
///     Host PROGRAM COVERS PICTURE PAGE
///
/// PROGRAM is `music` or `landmarks`, COVERS a folder with images: the covers of the albums in its `albums.csv`, or
/// landmarks by the names of the files. Lines on standard input open results.
@main
struct Host {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst().map { $0 }
        guard arguments.count == 4 else {
            print("usage: Host music|landmarks COVERS PICTURE PAGE")
            exit(2)
        }
        let files = try FileManager.default.contentsOfDirectory(
            at: URL(fileURLWithPath: arguments[1]), includingPropertiesForKeys: nil
        ).filter { $0.pathExtension == "jpg" }.sorted { $0.path < $1.path }
        let host = try await arguments[0] == "music" ? music(files) : landmarks(files)
        let content = SemanticContentDescriptor(
            pixelBuffer: try picture(contentsOf: URL(fileURLWithPath: arguments[2])))
        let sheet = try await host.sheet(for: content, limit: 6)
        try sheet.page().write(to: URL(fileURLWithPath: arguments[3]), atomically: true, encoding: .utf8)
        try await host.run(on: content, limit: 6)
        if arguments[0] == "landmarks" {
            // Which landmark is asked for.
            try await host.perform(OpenLandmarkIntent())
            try await host.perform(FindLandmarksIntent())
        }
        print("The sheet as a page: \(arguments[3])")
    }

    private static func name(of file: URL) -> String {
        file.deletingPathExtension().lastPathComponent.split(separator: "-").map(\.capitalized).joined(separator: " ")
    }

    @MainActor private static func music(_ files: [URL]) async throws -> VisualSearchHost {
        // The manifest has id, image, type, title and artist.
        let manifest = try String(
            contentsOf: files[0].deletingLastPathComponent().appendingPathComponent("albums.csv"), encoding: .utf8)
        let rows = manifest.split(separator: "\n").map { $0.split(separator: ",").map(String.init) }
        let catalog = AlbumCatalog()
        for file in files {
            guard let row = rows.first(where: { $0[1] == file.lastPathComponent }) else { continue }
            let album = AlbumEntity(
                id: row[0], name: row[3], artistName: row[4], coverArtData: try Data(contentsOf: file))
            try await catalog.add(album, cover: picture(contentsOf: file))
        }
        let artists = catalog.artists
        AppDependencyManager.shared.add(dependency: catalog)
        let state = AppState()
        AppDependencyManager.shared.add(dependency: state)
        AppDependencyManager.shared.add(
            dependency: ConcertFinder(
                artists.map { ConcertEntity(id: "\($0) in Porto", artistName: $0, venue: "Coliseu, Porto") }))
        return VisualSearchHost(name: "Music", query: SearchHandler(), moreResults: MusicSearchIntent.self) { intents in
            intents.register(OpenAlbumIntent.self)
            intents.register(OpenConcertIntent.self)
        }
    }

    private static func landmarks(_ files: [URL]) async throws -> VisualSearchHost {
        let landmarks = try files.map { file in
            (
                landmark: Landmark(
                    id: name(of: file), name: name(of: file), continent: .europe,
                    thumbnail: try Data(contentsOf: file)),
                picture: try picture(contentsOf: file)
            )
        }
        let navigation = Navigation()
        let data = try await ModelData(landmarks, collections: ["Favorites": landmarks.map(\.landmark.id)])
        AppDependencyManager.shared.add(dependency: data)
        AppDependencyManager.shared.add(dependency: navigation)
        return VisualSearchHost(
            name: "Landmarks", query: LandmarkIntentValueQuery(), moreResults: ShowLandmarkSearchIntent.self
        ) { intents in
            intents.register(OpenLandmarkIntent.self) { await navigation.show($0.target) }
        }
    }
}
