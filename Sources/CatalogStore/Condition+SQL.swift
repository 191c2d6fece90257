import CatalogEntities
import GRDB

extension Condition {
    /// The condition on a row of the table `entity`, for a scan of the table: the entities come from the index of
    /// fields. O(entities that have the values).
    var sql: SQL {
        sql { name, condition in
            "entity.row IN (SELECT field.row FROM field WHERE field.name = \(name) AND \(condition))"
        }
    }

    /// The condition on a row of the table `entity`, where something else selects few rows: the fields of each are
    /// looked up. O(log entities) for each.
    var sqlForFewRows: SQL {
        sql { name, condition in
            """
            EXISTS (SELECT 1 FROM field INDEXED BY fieldByEntity \
            WHERE field.row = entity.row AND field.name = \(name) AND \(condition))
            """
        }
    }

    /// The conditions that all hold.
    var conjuncts: [Condition] { if case .all(let parts) = form { parts } else { [self] } }

    /// Selects the rows of a condition without parts.
    var rowsOfOneField: SQL {
        var rows: SQL?
        let condition = sql { name, condition in
            rows = "SELECT field.row FROM field WHERE field.name = \(name) AND \(condition)"
            return ""
        }
        return rows ?? "SELECT entity.row FROM entity WHERE \(condition)"
    }

    /// - Parameter hasField: the condition that the entity has a field of a stored name for which a condition on
    ///   `field` holds.
    private func sql(_ hasField: (_ name: String, _ condition: SQL) -> SQL) -> SQL {
        func having(_ field: EntityField, _ condition: SQL) -> SQL { hasField(field.storedName, condition) }
        return switch form {
        case .isAnyOf(.id, let values): "entity.id IN \(values)"
        case .isAnyOf(let field, let values): having(field, "field.folded IN \(values.map(TextFolding.folded))")
        case .number(.id, _), .whole(.id, _), .date(.id, _): "0"
        case .number(let field, let range):
            [range.lower?.value, range.upper?.value].contains { $0?.isNaN == true }
                ? "0"
                : having(field, "field.number IS NOT NULL\(Self.isIn(range, "field.number"))")
        case .whole(let field, let range):
            having(field, "field.number IS NOT NULL\(Self.isIn(range, "field.number"))")
        case .date(let field, let range):
            Self.instants(range).map { range in
                having(field, "field.instant IS NOT NULL\(Self.isIn(range, "field.instant"))")
            } ?? "0"
        case .within(_, _, .id, _), .within(_, _, _, .id): "0"
        case .within(let kilometers, let point, let latitude, let longitude):
            kilometers >= 0 && point.isValid
                ? having(latitude, Self.isNear(point, kilometers, longitude: longitude)) : "0"
        case .hasPrefix(.id, let prefix): Self.hasPrefix("entity.id", prefix)
        case .hasPrefix(let field, let prefix):
            having(field, Self.hasPrefix("field.folded", TextFolding.folded(prefix)))
        case .contains(.id, let part): "instr(entity.id, \(part)) > 0"
        case .contains(let field, let part):
            having(field, "instr(field.folded, \(TextFolding.folded(part))) > 0")
        case .exists(.id): "1"
        case .exists(let field): having(field, "1")
        case .hasCode(let codes):
            hasField(ProductCode.storedName, Self.isCode(codes.flatMap(ProductCode.readings(of:))))
        case .not(let condition): "NOT (\(condition.sql(hasField)))"
        case .all(let parts): Self.joined(parts.map { $0.sql(hasField) }, .and)
        case .any(let parts): Self.joined(parts.map { $0.sql(hasField) }, .or)
        }
    }

    /// The condition that a row of `field` has one of the codes, of which some are words. The index is of folded text.
    static func isCode(_ codes: [ProductCode]) -> SQL {
        let texts = codes.map(\.canonical)
        return "field.folded IN \(texts.map(TextFolding.folded)) AND field.text IN \(texts)"
    }

    /// The conditions that a column is in a range, each after an “and”.
    static func isIn<Value: SQLExpressible>(_ range: ValueRange<Value>, _ column: SQL) -> SQL {
        var sql: SQL = ""
        if let lower = range.lower {
            sql = "\(sql) AND \(column) \(sql: lower.isIncluded ? ">=" : ">") \(lower.value)"
        }
        if let upper = range.upper {
            sql = "\(sql) AND \(column) \(sql: upper.isIncluded ? "<=" : "<") \(upper.value)"
        }
        return sql
    }

    /// The instants of a range of dates; nil if an end of the range is none.
    static func instants(_ range: ValueRange<String>) -> ValueRange<Double>? {
        let (lower, upper) = (range.lower.map { DateSpan($0.value) }, range.upper.map { DateSpan($0.value) })
        if case .some(nil) = lower { return nil }
        if case .some(nil) = upper { return nil }
        return ValueRange(
            from: (lower ?? nil).map { span in
                range.lower?.isIncluded == true
                    ? .init(span.start, isIncluded: true) : .init(span.end, isIncluded: span.start != span.end)
            },
            to: (upper ?? nil).map { span in
                range.upper?.isIncluded == true
                    ? .init(span.end, isIncluded: span.start == span.end) : .init(span.start, isIncluded: false)
            })
    }

    /// The range is for the index; it has a text too many only where the next scalar is the largest that there is.
    private static func hasPrefix(_ column: SQL, _ prefix: String) -> SQL {
        "(\(column) >= \(prefix) AND \(column) <= \(prefix) || char(0x10FFFF))"
    }

    /// The condition that a row of `field` is the latitude of a point near another one. The index finds those of the
    /// box, and each is measured.
    private static func isNear(_ point: GeoPoint, _ kilometers: Double, longitude: EntityField) -> SQL {
        let box = point.box(kilometers: kilometers)
        let isInBox = joined(
            box.longitudes.map { "other.number BETWEEN \($0.lowerBound) AND \($0.upperBound)" }, .or)
        return """
            field.number IS NOT NULL \
            AND field.number BETWEEN \(box.latitudes.lowerBound) AND \(box.latitudes.upperBound) \
            AND EXISTS (SELECT 1 FROM field AS other INDEXED BY fieldByEntity \
            WHERE other.row = field.row AND other.name = \(longitude.storedName) AND \(isInBox) \
            AND kilometers(field.number, other.number, \(point.latitude), \(point.longitude)) <= \(kilometers))
            """
    }

    /// The distance of two points by their degrees, for SQL.
    static let distanceFunction = DatabaseFunction("kilometers", argumentCount: 4, pure: true) { values in
        let degrees = values.compactMap(Double.fromDatabaseValue)
        guard degrees.count == 4 else { return nil }
        return GeoPoint(latitude: degrees[0], longitude: degrees[1]).kilometers(
            to: GeoPoint(latitude: degrees[2], longitude: degrees[3]))
    }

    private enum Conjunction { case and, or }

    /// A balanced tree: SQLite refuses expressions deeper than 1,000.
    private static func joined(_ parts: [SQL], _ conjunction: Conjunction) -> SQL {
        func joined(_ parts: ArraySlice<SQL>) -> SQL {
            guard parts.count > 1 else { return parts[parts.startIndex] }
            let middle = parts.startIndex + parts.count / 2
            let (a, b) = (joined(parts[..<middle]), joined(parts[middle...]))
            return conjunction == .and ? "(\(a) AND \(b))" : "(\(a) OR \(b))"
        }
        if parts.isEmpty { return conjunction == .and ? "1" : "0" }
        return joined(parts[...])
    }
}
