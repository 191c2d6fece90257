import FuzzSupport
import Lookalike

/// Decodes an image file, at its full size or at a reduced one. Memory is bounded as a server would bound it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzImages(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    let options = [
        DecodingOptions(maximumPixelCount: 1 << 22, maximumMemory: 64 << 20),
        DecodingOptions(maximumPixelCount: 1 << 22, maximumMemory: 64 << 20, neededSize: (16, 16)),
        DecodingOptions(maximumPixelCount: 1 << 22, maximumMemory: 64 << 20, neededLongSide: 40),
    ]
    guard let (chosen, file) = FuzzInput(bytes, count).choice(of: options) else { return -1 }
    guard let image = try? PixelBuffer(decoding: PNGFile.withChecksums(file), options: chosen) else { return 0 }
    precondition(image.width > 0 && image.height > 0 && image.width * image.height <= 1 << 22)
    // Every pixel is there, and can be resized.
    let resized = Resizer(width: 8, height: 8).resize(image)
    precondition(resized.allSatisfy { (-0.001...1.001).contains($0) }, "\(resized)")
    return 0
}
