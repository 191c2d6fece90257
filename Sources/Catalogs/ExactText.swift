/// Text that is the same only if its bytes are.
///
/// Swift's strings are equal if they are canonically equivalent, such as an “é” of one scalar and one of two. SQLite
/// and file systems compare bytes, and so do the ids of entities.
struct ExactText: Hashable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (a: ExactText, b: ExactText) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
