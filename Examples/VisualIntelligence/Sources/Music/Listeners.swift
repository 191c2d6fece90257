#if canImport(Contacts)
import Contacts
#else
import Foundation
import SystemStores
#endif

/// Friends to listen with, from the user's contacts.
public struct Listeners: Sendable {
    #if canImport(Contacts)
    public init() {}
    #else
    private let store: ContactFolder

    public init(_ store: ContactFolder) { self.store = store }
    #endif

    /// The addresses of the people with a name.
    public func emails(named name: String) async throws -> [String] {
        #if canImport(Contacts)
        let store = CNContactStore()
        guard try await store.requestAccess(for: .contacts) else { return [] }
        return try store.unifiedContacts(
            matching: CNContact.predicateForContacts(matchingName: name),
            keysToFetch: [CNContactEmailAddressesKey as any CNKeyDescriptor]
        ).flatMap { $0.emailAddresses.map { $0.value as String } }
        #else
        return ContactIndex(try await store.contacts().items).contacts(named: name).flatMap {
            $0.emails.map(\.value)
        }
        #endif
    }
}
