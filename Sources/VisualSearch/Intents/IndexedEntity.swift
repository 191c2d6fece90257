import Foundation

/// An entity that an index of texts may have. Nothing here indexes it by itself: `attributeSet` says what to index.
///
/// Entities of a catalog are found by their texts without it, by ``EntityCatalog/entities(matching:limit:)``.
public protocol IndexedEntity: AppEntity {
    var attributeSet: CSSearchableItemAttributeSet { get }
    /// Whether it is left out of the index.
    var hideInSpotlight: Bool { get }
}

extension IndexedEntity {
    public var attributeSet: CSSearchableItemAttributeSet { defaultAttributeSet }
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
    public var title: String?
    public var displayName: String?
    public var contentDescription: String?
    public var keywords: [String]?
    public var thumbnailData: Data?
    public var thumbnailURL: URL?

    public init() {}
}
