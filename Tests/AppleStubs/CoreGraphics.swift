// What `Sources/Imaging` uses of Core Graphics, to check its types where there is none. Nothing of it runs.
@_exported import Foundation

public typealias CFString = String

public final class CGColorSpace {
    public static let sRGB: CFString = ""
    public static let displayP3: CFString = ""
    public static let adobeRGB1998: CFString = ""
    public let name: CFString?

    public init?(name: CFString) { self.name = name }
}

public enum CGImageAlphaInfo: UInt32 { case premultipliedFirst }

public struct CGBitmapInfo: OptionSet, Sendable {
    public let rawValue: UInt32
    public static let byteOrder32Little = CGBitmapInfo(rawValue: 1)

    public init(rawValue: UInt32) { self.rawValue = rawValue }
}

public final class CGImage {
    public let width = 0
    public let height = 0
}

public final class CGContext {
    public init?(
        data: UnsafeMutableRawPointer?, width: Int, height: Int, bitsPerComponent: Int, bytesPerRow: Int,
        space: CGColorSpace, bitmapInfo: UInt32
    ) {}

    public func clear(_ rect: CGRect) {}
    public func draw(_ image: CGImage, in rect: CGRect) {}
}
