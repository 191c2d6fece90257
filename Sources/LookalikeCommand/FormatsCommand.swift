import ArgumentParser
import Foundation
import Lookalike

struct FormatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "formats",
        abstract: "Lists the image formats, and which of them this build reads.",
        discussion: """
            A format is read with an optional library if that was installed when this program was built, and the \
            package’s trait was enabled. An image of another one is an error that names the library.
            """)

    func run() {
        for format in ImageFormat.all { print(Self.line(format)) }
        print(
            Self.line(
                "colors", "profiles with tables, such as those of inks",
                lacking: ImageFormat.convertsByTables ? nil : ("lcms2", "ColorManagement")))
    }

    private static func line(_ format: ImageFormat) -> String {
        line(
            format.name, format.fileExtensions.joined(separator: ", "),
            lacking: format.isDecoded ? nil : format.library)
    }

    private static func line(_ name: String, _ words: String, lacking library: (name: String, trait: String)?) -> String
    {
        let end = library.map { "; not in this build, which lacks \($0.name) (package trait “\($0.trait)”)" } ?? ""
        return name.padding(toLength: 8, withPad: " ", startingAt: 0) + words + end
    }
}
