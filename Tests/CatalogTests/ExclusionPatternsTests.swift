import CatalogEntities
import CatalogIndexing
import Foundation
import Imaging
import TestSupport
import Testing

struct ExclusionPatternsTests {
    /// As `git check-ignore` says.
    @Test(arguments: [
        ("drafts/", ["drafts/a.jpg", "x/drafts/b/a.jpg"], ["drafts", "x/drafts", "drafts.jpg"]),
        ("drafts", ["drafts", "x/drafts", "drafts/a.jpg"], ["draft", "mydrafts/a.jpg"]),
        ("*.tmp.jpg", ["a.tmp.jpg", "x/y/a.tmp.jpg"], ["a.jpg", "tmp.jpg"]),
        ("/top.jpg", ["top.jpg"], ["x/top.jpg"]),
        ("x/*.jpg", ["x/a.jpg"], ["x/y/a.jpg", "y/x/a.jpg"]),
        ("x/**/a.jpg", ["x/a.jpg", "x/y/a.jpg", "x/y/z/a.jpg"], ["a.jpg", "y/x/a.jpg"]),
        ("**/y/a.jpg", ["y/a.jpg", "x/y/a.jpg"], ["y/z/a.jpg"]),
        ("x/**", ["x/a.jpg", "x/y/a.jpg"], ["x", "y/x/a.jpg"]),
        ("a?[0-9].jpg", ["ab1.jpg", "x/ab9.jpg"], ["a1.jpg", "abc.jpg"]),
        ("#x", ["#x", "y/#x"], ["x"]),
    ])
    func aPatternLeavesOut(pattern: String, excluded: [String], others: [String]) {
        let patterns = ExclusionPatterns([pattern])
        func isExcluded(_ path: String) -> Bool {
            let names = path.split(separator: "/")
            return names.indices.contains { index in
                let isFolder = index < names.count - 1
                return patterns.exclusion(of: names[...index].joined(separator: "/"), isFolder: isFolder) != nil
            }
        }
        for path in excluded { #expect(isExcluded(path), "\(path)") }
        for path in others { #expect(!isExcluded(path), "\(path)") }
    }

    @Test func theLastPatternThatMatchesDecides() {
        let patterns = ExclusionPatterns(["*.jpg", "!keep.jpg", "!@eaDir/"])
        #expect(patterns.exclusion(of: "x/a.jpg", isFolder: false) == "*.jpg")
        #expect(patterns.exclusion(of: "x/keep.jpg", isFolder: false) == nil)
        #expect(patterns.exclusion(of: "x/@eaDir", isFolder: true) == nil)
        #expect(patterns.exclusion(of: "x/#recycle", isFolder: true) == "#recycle/")
    }

    /// What a file server and photo libraries keep is no image of the user's.
    @Test func aFolderIsReadWithoutWhatIsLeftOut() throws {
        let folder = try TemporaryFolder()
        for name in [
            "a.jpg", "@eaDir/a.jpg/SYNOPHOTO_THUMB_M.jpg", "x/@eaDir/b.jpg", "x/b.jpg", "#recycle/old.jpg",
            "__MACOSX/x/._b.jpg", "__MACOSX/x/b.jpg", ".thumbnails/1.jpg", "drafts/c.jpg", "x/c-small.jpg",
            "My.photoslibrary/originals/0/d.jpg", "My.photoslibrary/resources/derivatives/0/d.jpg",
            "Catalog Previews.lrdata/0/e.jpg",
        ] {
            try folder.write("no image", to: "images/\(name)")
        }
        let images = folder.file("images")
        func ids(_ patterns: [String]) throws -> [String] {
            let entries = try ImageSource.entries(at: images, excluding: patterns)
            return try entries.map { try $0.get().entity.id }.sorted()
        }
        #expect(try ids([]) == ["My.photoslibrary/originals/0/d", "a", "drafts/c", "x/b", "x/c-small"])
        #expect(try ids(["drafts/", "*-small.*", "*.photoslibrary"]) == ["a", "x/b"])
        #expect(try ids(["!@eaDir", "drafts"]).contains("@eaDir/a.jpg/SYNOPHOTO_THUMB_M"))
        #expect(
            try ImageSource.entries(at: images, excluding: ["drafts/"]).count() == (
                4, 0,
                [
                    "left out: 1 of “#recycle/”, 1 of “**/*.photoslibrary/resources/”, 1 of “*.lrdata/”, "
                        + "2 of “@eaDir/”, 1 of “__MACOSX/”, 1 of “drafts/”"
                ]
            ))
    }

    /// A list of paths gives the same entries as the folder.
    @Test func aListOfPathsHasTheIDsOfTheFolder() throws {
        let folder = try TemporaryFolder()
        for name in ["a.jpg", "x/b.c.jpg", "x/y/d.png", "a.png"] { try folder.write("no image", to: "images/\(name)") }
        let images = folder.file("images")
        let all = try ImageSource.items(at: images)
        let paths = ["./a.jpg", "x//b.c.jpg", images.path + "/x/y/d.png", "x/../a.png"]
        let listed = ImageSource.entries(ofImagesAt: paths, below: images)
        let (items, problems) = listed.reduce(into: ([IndexItem](), [IndexProblem]())) { found, entry in
            switch entry {
            case .success(let item): found.0.append(item)
            case .failure(let problem): found.1.append(problem)
            }
        }
        #expect(Set(items.map(\.entity)) == Set(all.items.map(\.entity)))
        #expect(problems.map(\.subject) == all.problems.map(\.subject))
        let elsewhere = ImageSource.entries(ofImagesAt: [folder.file("other/z.jpg").path], below: images)
        #expect(try elsewhere.map { try $0.get().entity.id } == [folder.file("other/z").path.dropFirst().description])
    }
}
