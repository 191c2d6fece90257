import Synchronization

/// A derived file that a reader has open, replaced by the next one when a writer has made it.
final class OpenDerivedFile<File: DerivedFile>: Sendable {
    let store: DerivedFileStore<File>
    private let state: Mutex<State>

    private struct State {
        var file: File
        /// A file at the path that was of no use.
        var rejected: FileIdentity?
    }

    init(_ store: DerivedFileStore<File>) throws {
        self.store = store
        state = Mutex(State(file: try store.open()))
    }

    /// The newest file, unchanged at this moment.
    ///
    /// Call it before each scan, and ``DerivedFile/checkIsUnchanged(in:)`` afterwards: another program may change the
    /// file meanwhile.
    func current() throws -> File {
        try state.withLock { state in
            if let found = FileIdentity(store.url), found != state.file.contents.file.identity, found != state.rejected {
                if let newer = try store.usable() {
                    state = State(file: newer.file)
                } else {
                    state.rejected = found
                }
            }
            if !state.file.contents.file.isUnchanged { state = State(file: try store.open()) }
            return state.file
        }
    }

    /// The header of the file that was used last.
    var header: DerivedFileHeader { state.withLock { $0.file.header } }
}
