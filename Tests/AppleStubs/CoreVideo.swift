// What `Sources/Imaging` uses of Core Video, to check its types where there is none. Nothing of it runs.
@_exported import CoreGraphics

public typealias CFDictionary = [String: String]
public typealias OSType = UInt32
public final class CVPixelBuffer {}

public struct CVPixelBufferLockFlags: OptionSet, Sendable {
    public let rawValue: UInt64
    public static let readOnly = CVPixelBufferLockFlags(rawValue: 1)

    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

public enum CVAttachmentMode: UInt32 { case shouldNotPropagate, shouldPropagate }

public let kCVPixelFormatType_32BGRA: OSType = 1
public let kCVPixelFormatType_32RGBA: OSType = 2
public let kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange: OSType = 3
public let kCVPixelFormatType_420YpCbCr8BiPlanarFullRange: OSType = 4
public let kCVImageBufferColorPrimariesKey: CFString = ""
public let kCVImageBufferColorPrimaries_P3_D65: CFString = ""
public let kCVImageBufferColorPrimaries_ITU_R_2020: CFString = ""
public let kCVImageBufferYCbCrMatrixKey: CFString = ""
public let kCVImageBufferYCbCrMatrix_ITU_R_601_4: CFString = ""
public let kCVImageBufferYCbCrMatrix_ITU_R_2020: CFString = ""

public func CVPixelBufferGetWidth(_: CVPixelBuffer) -> Int { 0 }
public func CVPixelBufferGetHeight(_: CVPixelBuffer) -> Int { 0 }
public func CVPixelBufferGetPixelFormatType(_: CVPixelBuffer) -> OSType { 0 }
public func CVPixelBufferGetBytesPerRow(_: CVPixelBuffer) -> Int { 0 }
public func CVPixelBufferGetBaseAddress(_: CVPixelBuffer) -> UnsafeMutableRawPointer? { nil }
public func CVPixelBufferGetBytesPerRowOfPlane(_: CVPixelBuffer, _: Int) -> Int { 0 }
public func CVPixelBufferGetHeightOfPlane(_: CVPixelBuffer, _: Int) -> Int { 0 }
public func CVPixelBufferGetBaseAddressOfPlane(_: CVPixelBuffer, _: Int) -> UnsafeMutableRawPointer? { nil }
@discardableResult
public func CVPixelBufferLockBaseAddress(_: CVPixelBuffer, _: CVPixelBufferLockFlags) -> Int32 { 0 }
@discardableResult
public func CVPixelBufferUnlockBaseAddress(_: CVPixelBuffer, _: CVPixelBufferLockFlags) -> Int32 { 0 }
public func CVBufferCopyAttachment(
    _: CVPixelBuffer, _ key: CFString, _: UnsafeMutablePointer<CVAttachmentMode>?
) -> AnyObject? { nil }
public func CVBufferCopyAttachments(_: CVPixelBuffer, _: CVAttachmentMode) -> CFDictionary? { nil }
public func CVImageBufferCreateColorSpaceFromAttachments(_: CFDictionary) -> Unmanaged<CGColorSpace>? { nil }

public struct CVReadOnlyPixelBuffer: @unchecked Sendable {
    let buffer: CVPixelBuffer

    public func withUnsafeBuffer<Result, Failure: Error>(
        _ body: (CVPixelBuffer) throws(Failure) -> Result
    ) throws(Failure) -> Result { try body(buffer) }
}
