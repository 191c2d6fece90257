// What the snippets of the README and the documentation assume.
import Foundation
import Lookalike

let bytes: [UInt8] = []
let data = Data()
let (jpeg, front, back) = (Data(), Data(), Data())
let (luma, chroma): ([UInt8], [UInt8]) = ([], [])
let uploads = AsyncStream<IndexItem> { _ in }
let catalog: Catalog = assumed()
let photo: PixelBuffer = assumed()

func assumed<Value>() -> Value { fatalError("a snippet is not run") }
