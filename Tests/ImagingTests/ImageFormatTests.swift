import Foundation
import Imaging
import Testing

/// The table of formats.
struct ImageFormatTests {
    @Test func entriesAreComplete() {
        for format in ImageFormat.all {
            #expect(!format.name.isEmpty && format.mediaType.hasPrefix("image/"))
            #expect(!format.fileExtensions.isEmpty && !format.signatures.isEmpty)
            #expect(format.fileExtensions.allSatisfy { !$0.isEmpty && $0 == $0.lowercased() })
            // A format that a build may lack says what is missing.
            #expect(format.decoder != nil || format.library != nil, "\(format.name) has no decoder")
            #expect(format.library.map { !$0.name.isEmpty && !$0.trait.isEmpty } ?? true)
        }
    }

    @Test func entriesAreDistinct() {
        let formats = ImageFormat.all
        #expect(Set(formats.map(\.name)).count == formats.count)
        #expect(Set(formats.map(\.mediaType)).count == formats.count)
        let extensions = formats.flatMap(\.fileExtensions)
        #expect(Set(extensions).count == extensions.count)
        #expect(ImageFormat.allFileExtensions == Set(extensions))
    }

    @Test func noFileBeginsLikeTwoFormats() {
        let signatures = ImageFormat.all.flatMap(\.signatures)
        #expect(Set(signatures).count == signatures.count)
        var beginnings = signatures.compactMap { signature in
            if case .bytes(let bytes) = signature { bytes } else { nil as [UInt8]? }
        }
        beginnings.append(Array("RIFF".utf8))
        for (index, bytes) in beginnings.enumerated() {
            #expect(!bytes.isEmpty)
            for (other, longer) in beginnings.enumerated() where other != index {
                #expect(!longer.starts(with: bytes), "\(bytes) begins \(longer)")
            }
        }
    }

    @Test func traitsDecideWhatABuildDecodes() {
        var traits: Set<String> = []
        #if LK_WEBP
        traits.insert("WebP")
        #endif
        #if LK_HEIF
        traits.insert("HEIF")
        #endif
        #if LK_GIF
        traits.insert("GIF")
        #endif
        #if LK_TIFF
        traits.insert("TIFF")
        #endif
        for format in ImageFormat.all {
            #expect((format.decoder != nil) == format.library.map { traits.contains($0.trait) } ?? true)
        }
    }

    @Test func fixturesAreOfTheFormatsOfTheirNames() throws {
        let files = try FileManager.default.contentsOfDirectory(at: FormatTests.folder, includingPropertiesForKeys: nil)
        var found: Set<String> = []
        for file in files where file.pathExtension != "json" {
            let format = try Data(contentsOf: file).withUnsafeBytes { try ImageFormat(of: $0) }
            #expect(format.fileExtensions.contains(file.pathExtension), "\(file.lastPathComponent)")
            found.insert(format.name)
        }
        #expect(found == Set(ImageFormat.all.map(\.name)))
    }

    @Test func formatsAreListedInWords() {
        #expect(ImageFormat.list(conjunction: "and") == "PNG, JPEG, WebP, HEIC, AVIF, GIF and TIFF")
    }
}
