#if SystemStores
public import Foundation

/// A person or an organization out of an address book.
public struct Contact: Sendable, Hashable, Codable, Identifiable {
    /// A phone number, an address of mail or a URL, with what it is for.
    public struct Entry: Sendable, Hashable, Codable {
        public var value: String
        /// What the entry is for, such as `home`, `work` or `cell`, or a label of the user's own.
        public var labels: [String]
        public var isPreferred: Bool

        public init(value: String, labels: [String] = [], isPreferred: Bool = false) {
            self.value = value
            self.labels = labels
            self.isPreferred = isPreferred
        }
    }

    public struct PostalAddress: Sendable, Hashable, Codable {
        /// Street and number, with the post-office box and the extension before it if there are any.
        public var street: String
        public var city: String
        public var region: String
        public var postalCode: String
        public var country: String
        public var labels: [String]
    }

    /// A date of which parts may be unknown, such as a birthday without its year.
    public struct PartialDate: Sendable, Hashable, Codable {
        public var year: Int?
        /// 1...12.
        public var month: Int?
        /// 1...31.
        public var day: Int?

        public init(year: Int? = nil, month: Int? = nil, day: Int? = nil) {
            self.year = year
            self.month = month
            self.day = day
        }
    }

    public enum Photo: Sendable, Hashable, Codable {
        /// An image file, with its media type, such as `image/jpeg`, if the card has it.
        case data(Data, mediaType: String?)
        /// Where the image is. It is not fetched.
        case url(URL)
    }

    /// The card's UID; for one without, its file and its place in it.
    public var id: String
    /// The name as it is displayed.
    public var name: String
    public var givenName = ""
    public var additionalNames = ""
    public var familyName = ""
    public var namePrefix = ""
    public var nameSuffix = ""
    public var nicknames: [String] = []
    public var organization: String?
    public var jobTitle: String?
    public var phones: [Entry] = []
    public var emails: [Entry] = []
    public var urls: [Entry] = []
    public var addresses: [PostalAddress] = []
    public var birthday: PartialDate?
    public var notes: String?
    public var categories: [String] = []
    /// `individual`, `org`, `group` or another kind, in lowercase.
    public var kind = "individual"
    public var photo: Photo?
    /// When the card was last changed.
    public var revised: Date?
    /// The file that it was read from.
    public var file: String

    public init(id: String, name: String, file: String) {
        self.id = id
        self.name = name
        self.file = file
    }
}
#endif
