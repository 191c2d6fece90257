import Foundation
import Lookalike
import ONNXImport

func assumptions(of file: URL) throws -> [String] {
    try ImportedNetwork(contentsOf: file, options: ImportOptions(name: "network")).assumptions
}
