import Foundation

/// A point of the earth, by its latitude and longitude in degrees (WGS 84).
public struct GeoPoint: Sendable, Hashable {
    /// Degrees north of the equator, -90…90.
    public var latitude: Double
    /// Degrees east of Greenwich, -180…180.
    public var longitude: Double

    /// A point by its degrees.
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    /// The earth's mean radius R₁ in kilometers (H. Moritz, “Geodetic Reference System 1980”, Journal of Geodesy 74,
    /// 2000).
    static let earthRadius = 6371.0088

    /// Whether the degrees are in their ranges.
    package var isValid: Bool { (-90...90).contains(latitude) && (-180...180).contains(longitude) }

    /// The great-circle distance to another point. The earth is taken for a sphere: an error of 0.5 % at most.
    ///
    /// By the haversine formula, which is exact for small distances, too (R. W. Sinnott, “Virtues of the Haversine”,
    /// Sky and Telescope 68, 1984).
    public func kilometers(to other: GeoPoint) -> Double {
        let radians = Double.pi / 180
        func haversine(_ degrees: Double) -> Double {
            let sine = sin(degrees * radians / 2)
            return sine * sine
        }
        let square =
            haversine(other.latitude - latitude)
            + cos(latitude * radians) * cos(other.latitude * radians) * haversine(other.longitude - longitude)
        return 2 * Self.earthRadius * asin(min(1, square.squareRoot()))
    }

    /// The degrees between which all points are that are not farther than a distance.
    package struct Box {
        package let latitudes: ClosedRange<Double>
        /// Two ranges where the box crosses the 180th meridian; they include the points at it on both sides.
        package let longitudes: [ClosedRange<Double>]
    }

    /// The box of a distance (J. P. Matuschek, “Finding Points Within a Distance of a Latitude/Longitude Using Bounding
    /// Coordinates”). Around a pole it has all longitudes.
    package func box(kilometers: Double) -> Box {
        // A centimeter more than rounding needs.
        let margin = 1e-7
        let degrees = 180 / Double.pi
        let angle = kilometers / Self.earthRadius
        let (south, north) = (latitude - angle * degrees - margin, latitude + angle * degrees + margin)
        let latitudes = max(-90, south)...min(90, north)
        let all = Box(latitudes: latitudes, longitudes: [-180...180])
        guard south > -90, north < 90 else { return all }
        let width = asin(min(1, sin(angle) / cos(latitude / degrees))) * degrees + margin
        let (west, east) = (longitude - width, longitude + width)
        if west <= -180 { return Box(latitudes: latitudes, longitudes: [-180...east, (west + 360)...180]) }
        if east >= 180 { return Box(latitudes: latitudes, longitudes: [west...180, -180...(east - 360)]) }
        return Box(latitudes: latitudes, longitudes: [west...east])
    }
}
