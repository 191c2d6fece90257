/// The row of an image in the database: that of its entity, and the image's place among the entity's images.
///
/// So the images of an entity follow each other in the catalog's order, and no table says whose they are.
package enum ImageRow {
    package static let placeBits = 14
    /// The most images of an entity.
    package static let mostPlaces = 1 << placeBits

    package static func row(of entity: Int64, place: Int = 0) -> Int64 { entity << placeBits | Int64(place) }
    /// The row of the last image that an entity may have; the largest number for an entity after all others.
    package static func last(of entity: Int64) -> Int64 {
        entity >= .max >> placeBits ? .max : row(of: entity, place: mostPlaces - 1)
    }

    package static func entity(_ row: Int64) -> Int64 { row >> placeBits }
    package static func place(_ row: Int64) -> Int { Int(row & Int64(mostPlaces - 1)) }
}
