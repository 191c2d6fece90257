import CLookalike
import CatalogIndexing
import FeaturePrints
import Foundation
import Imaging

/// What a caller gives as an image, checked. Paths and bytes are copied, and pixels are not.
enum Source: Sendable {
    case file(String)
    case data(Data)
    case pixels(PixelBuffer)
    case print(FeaturePrint)

    init(_ source: lookalike_source, of model: FeaturePrintModel) throws {
        let forms = [source.path != nil, source.bytes != nil, source.image != nil, source.print != nil]
        try check(forms.count { $0 } == 1, "an image is a path, bytes, pixels or a print: give one of them, not NULL")
        if let path = source.path {
            let path = try text(path, named: "path")
            try check(!path.isEmpty, "the path is empty")
            self = .file(path)
        } else if let bytes = source.bytes {
            let limit = DecodingOptions().maximumByteCount
            try check((0...limit).contains(source.size), "a file of \(source.size) bytes: it has at most \(limit)")
            self = .data(Data(bytes: bytes, count: source.size))
        } else if let print = source.print {
            try check(
                source.size == model.dimension,
                "a print of the catalog has \(model.dimension) numbers, not \(source.size)")
            let vector = Array(UnsafeBufferPointer(start: print, count: model.dimension))
            if let place = vector.firstIndex(where: { !$0.isFinite }) {
                throw InterfaceError("the print has \(vector[place]) in component \(place), counted from 0")
            }
            let print = FeaturePrint(vector: vector, model: model.identity)
            try model.check(print)
            self = .print(print)
        } else {
            self = .pixels(try object(source.image, ImageObject.self, named: "image").pixels)
        }
    }

    /// What answers call it.
    var name: String {
        switch self {
        case .file(let path): path
        case .data, .pixels: "image"
        case .print: "print"
        }
    }

    /// Its pixels; nil for a print.
    func pixels(_ options: DecodingOptions) throws(ImageError) -> PixelBuffer? {
        switch self {
        case .file(let path): try PixelBuffer(contentsOf: URL(fileURLWithPath: path), options: options)
        case .data(let data): try PixelBuffer(decoding: data, named: name, options: options)
        case .pixels(let pixels): pixels
        case .print: nil
        }
    }

    /// The image to index, which keeps nothing of the caller's memory.
    func indexed() throws -> IndexImage {
        switch self {
        case .file(let path): .file(URL(fileURLWithPath: path))
        case .data(let data): .data(data)
        case .pixels(let pixels): .pixels(try pixels.copied())
        case .print(let print): .print(print)
        }
    }
}

extension PixelBuffer {
    /// A copy in memory of its own.
    fileprivate func copied() throws(PixelBufferError) -> PixelBuffer {
        let rowBytes = width * format.bytesPerPixel
        var data = Data(capacity: rowBytes * height)
        withUnsafeBytes { bytes in
            for row in 0..<height { data += bytes[(row * bytesPerRow)..<(row * bytesPerRow + rowBytes)] }
        }
        return try PixelBuffer(
            wrapping: data, width: width, height: height, format: format, alpha: alpha, colorSpace: colorSpace)
    }
}
