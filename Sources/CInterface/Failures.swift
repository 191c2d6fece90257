import CLookalike
import CatalogEntities
import Compute
import Foundation
import Imaging
import Synchronization

/// Why a call from C fails.
struct InterfaceError: DescribedError {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The process that called the library first; 0 before. No lock: after a fork, a `Mutex` that two threads want ends the
/// process, since it names its owner by the number that the thread had in the parent.
private let caller = Atomic<pid_t>(0)

/// The process that called the library first; this one if there was none.
@discardableResult
func firstProcess() -> pid_t {
    let id = getpid()
    let (_, first) = caller.compareExchange(expected: 0, desired: id, ordering: .relaxed)
    return first == 0 ? id : first
}

/// The result of `body`; nil if it throws, and `lookalike_error` says why.
func reported<Result>(_ body: () throws -> Result) -> Result? {
    firstProcess()
    do {
        return try body()
    } catch is CancellationError {
        lookalike_set_error("the call was interrupted", LOOKALIKE_ERROR_INTERRUPTED)
        return nil
    } catch {
        lookalike_set_error("\(error)", error is ImageError ? LOOKALIKE_ERROR_IMAGE : LOOKALIKE_ERROR_OTHER)
        return nil
    }
}

/// Waits for an asynchronous function, unless the caller interrupts the call.
func waiting<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
    try Compute.waiting(unless: { lookalike_is_interrupted() }, body)
}

/// Whether `body` throws nothing.
func succeeded(_ body: () throws -> Void) -> Bool { reported(body) != nil }

func check(_ condition: Bool, _ reason: @autoclosure () -> String) throws(InterfaceError) {
    guard condition else { throw InterfaceError(reason()) }
}

/// A number of threads; nil for those that have nothing else to do.
func threadLimit(_ threads: Int32) throws(InterfaceError) -> Int? {
    try check(threads >= 0, "a call cannot compute on \(threads) threads")
    return threads == 0 ? nil : min(Int(threads), mostThreads)
}

/// The object behind a handle, which its caller keeps.
func object<Object: AnyObject>(
    _ handle: OpaquePointer?, _: Object.Type, named name: String
) throws(InterfaceError) -> Object {
    guard let handle else { throw InterfaceError("the \(name) is NULL") }
    return Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).takeUnretainedValue()
}

/// A handle of an object, which ``release(_:_:)`` takes back.
func handle(of object: some AnyObject) -> OpaquePointer { OpaquePointer(Unmanaged.passRetained(object).toOpaque()) }

func release<Object: AnyObject>(_ handle: OpaquePointer?, _: Object.Type) {
    if let handle { Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).release() }
}

/// The text of a caller.
func text(_ pointer: UnsafePointer<CChar>?, named name: String) throws(InterfaceError) -> String {
    guard let pointer else { throw InterfaceError("the \(name) is NULL") }
    guard let text = String(validatingCString: pointer) else { throw InterfaceError("the \(name) is no UTF-8") }
    return text
}

/// A copy of a text, which the caller frees.
func copied(_ text: String) throws(InterfaceError) -> UnsafeMutablePointer<CChar> {
    guard let copy = strdup(text) else { throw InterfaceError("cannot allocate \(text.utf8.count) bytes") }
    return copy
}

/// Options that a caller gives as a JSON object.
protocol JSONOptions: Decodable {
    /// The members that are read.
    static var keys: [String] { get }
}

/// The options of a caller; those without members for NULL.
func options<Options: JSONOptions>(_ json: UnsafePointer<CChar>?, _: Options.Type) throws -> Options {
    let data = Data(try json == nil ? "{}".utf8 : text(json, named: "options").utf8)
    do {
        let unknown = try JSONDecoder().decode([String: Ignored].self, from: data).keys.filter {
            !Options.keys.contains($0)
        }
        try check(unknown.isEmpty, "the options have no \(unknown.sorted().joined(separator: ", "))")
        let repeated = JSONShape(data).repeatedKey
        try check(repeated == nil, "the options have “\(repeated ?? "")” twice")
        return try JSONDecoder().decode(Options.self, from: data)
    } catch is DecodingError {
        throw InterfaceError("the options are no JSON object with members as they are described")
    }
}

/// Any value of JSON.
private struct Ignored: Decodable {
    init(from decoder: any Decoder) {}
}

/// Text that C reads as long as this lives.
///
/// Unchecked: nothing writes to it.
final class CText: @unchecked Sendable {
    let pointer: UnsafePointer<CChar>

    init(_ text: String) throws(InterfaceError) { pointer = try UnsafePointer(copied(text)) }
    deinit { free(UnsafeMutablePointer(mutating: pointer)) }
}

/// The process that something belongs to: threads and locks do not survive a fork.
struct ProcessOwner {
    private let id = getpid()
    private let name: String

    init(_ name: String) { self.name = name }

    func check() throws(InterfaceError) {
        guard getpid() == id else {
            throw InterfaceError(
                "the \(name) was opened before the process was forked, and cannot be used in the child; "
                    + "open it in the child alone, or start a new process, as “spawn” of Python does")
        }
    }
}

@_cdecl("lookalike_interface_version")
package func interfaceVersion() -> Int32 { LOOKALIKE_INTERFACE_VERSION }

@_cdecl("lookalike_version")
package func version() -> UnsafePointer<CChar>? { versionText }

/// Never freed.
private nonisolated(unsafe) let versionText = UnsafePointer(strdup(PackageVersion.current))

@_cdecl("lookalike_string_free")
package func stringFree(_ string: UnsafeMutableRawPointer?) { free(string) }
