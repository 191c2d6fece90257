import CatalogStore
import Catalogs
import Foundation
import TestSupport
import Testing

struct FileStampTests {
    /// Seconds from now on.
    @Test(arguments: [(-3600.0, true), (3600.0, false)])
    func laterChangesHaveAnotherStampIfTheClockIsPastTheFile(seconds: Double, isOlder: Bool) throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("text", to: "file")
        try FileManager.default.setAttributes([.modificationDate: Date() + seconds], ofItemAtPath: file.path)
        #expect(try #require(FileStamp(path: file.path)).isOlderThanLaterChanges == isOlder)
    }
}
