/// Ends the program with the reason unless a condition holds: for mistakes of the program that calls.
///
/// A precondition does the same, but says nothing in release builds.
package func require(
    _ condition: Bool, _ reason: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) {
    guard condition else { fatalError(reason(), file: file, line: line) }
}
