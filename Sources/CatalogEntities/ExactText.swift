/// Text that is the same only if its bytes are.
///
/// Swift's strings are equal if they are canonically equivalent, such as an “é” of one scalar and one of two. SQLite
/// and file systems compare bytes, and so do the ids of entities.
package struct ExactText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (a: ExactText, b: ExactText) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
