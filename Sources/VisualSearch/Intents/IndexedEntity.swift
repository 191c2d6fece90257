import Foundation

/// An entity that an index of texts may have. Nothing here indexes it by itself: `attributeSet` says what to index.
///
/// Entities of a catalog are found by their texts without it, by ``EntityCatalog/entities(matching:limit:)``.
public protocol IndexedEntity: AppEntity {
    /// What an index has of it; by default what the display has.
    var attributeSet: CSSearchableItemAttributeSet { get }
    /// Whether it is left out of the index.
    var hideInSpotlight: Bool { get }
}

extension IndexedEntity {
    /// What an index has of it: what the display has.
    public var attributeSet: CSSearchableItemAttributeSet { defaultAttributeSet }
    /// Whether it is left out of the index; false by default.
    public var hideInSpotlight: Bool { false }

    /// What the display has: title, subtitle, synonyms and picture.
    public var defaultAttributeSet: CSSearchableItemAttributeSet {
        let display = displayRepresentation
        let attributes = CSSearchableItemAttributeSet()
        attributes.displayName = display.title.localized()
        attributes.title = attributes.displayName
        attributes.contentDescription = display.subtitle?.localized()
        attributes.keywords = display.synonyms.isEmpty ? nil : display.synonyms.map { $0.localized() }
        attributes.thumbnailData = display.image?.data
        attributes.thumbnailURL = display.image?.url
        return attributes
    }
}

/// What an index of texts has of an entity: the part of Core Spotlight's class that does not depend on its index.
public final class CSSearchableItemAttributeSet {
    /// The name.
    public var title: String?
    /// The name as it is displayed.
    public var displayName: String?
    /// What it is, in a sentence or two.
    public var contentDescription: String?
    /// Other words that people search for it by.
    public var keywords: [String]?
    /// The bytes of an image file.
    public var thumbnailData: Data?
    /// Where the picture is.
    public var thumbnailURL: URL?

    /// Without any attribute.
    public init() {}
}
