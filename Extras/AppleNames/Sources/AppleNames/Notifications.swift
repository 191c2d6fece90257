#if os(Linux) && AppleNames
import Foundation

extension NotificationCenter {
    /// The notifications that are posted under a name from now on, until the task is cancelled.
    public func notifications(named name: Notification.Name, object: AnyObject? = nil) -> Notifications {
        Notifications(self, name, object)
    }

    /// The notifications of a name, in the order in which they were posted. They are kept until they are read.
    public final class Notifications: AsyncSequence, @unchecked Sendable {
        // The center and its token may be used from any thread; a notification is handed from one to the other.
        public typealias Element = Notification
        public typealias Failure = Never

        private let center: NotificationCenter
        private let token: any NSObjectProtocol
        private let stream: AsyncStream<Box>

        fileprivate struct Box: @unchecked Sendable {
            let notification: Notification
        }

        fileprivate init(_ center: NotificationCenter, _ name: Notification.Name, _ object: AnyObject?) {
            let (stream, continuation) = AsyncStream.makeStream(of: Box.self)
            (self.center, self.stream) = (center, stream)
            token = center.addObserver(forName: name, object: object, queue: nil) {
                continuation.yield(Box(notification: $0))
            }
        }

        deinit { center.removeObserver(token) }

        public func makeAsyncIterator() -> Iterator { Iterator(self, stream.makeAsyncIterator()) }

        /// Waits for one notification after the other.
        public struct Iterator: AsyncIteratorProtocol {
            private let notifications: Notifications
            private var boxes: AsyncStream<Box>.AsyncIterator

            fileprivate init(_ notifications: Notifications, _ boxes: AsyncStream<Box>.AsyncIterator) {
                (self.notifications, self.boxes) = (notifications, boxes)
            }

            /// The next notification; nil when the task is cancelled.
            public mutating func next() async -> Notification? { await next(isolation: nil) }

            public mutating func next(isolation actor: isolated (any Actor)?) async -> Notification? {
                await boxes.next(isolation: actor)?.notification
            }
        }
    }
}
#endif
