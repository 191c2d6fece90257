public import VisualSearch

/// The results of a visual search, as the system shows them: in two columns, a single one in the full width.
public struct VisualSearchSheet: Sendable {
    /// A result.
    public struct Item: Sendable {
        /// The entity.
        public let entity: any AppEntity
        /// The name of the entity.
        public let title: String
        /// The second line; nil without one.
        public let subtitle: String?
        /// The bytes of an image file; nil without a picture in memory.
        public let picture: Data?
        /// The name of a symbol of the system or of a picture of the app; nil for other pictures.
        public let symbol: String?
        /// The name of the entity's type.
        public let kind: String
        /// What opening it does, as a sentence; nil if no intent opens its type.
        public let opening: String?

        init(_ entity: any AppEntity, opening: String?, languages: [String]) {
            let display = entity.displayRepresentation
            self.entity = entity
            self.opening = opening
            title = display.title.localized(for: languages)
            subtitle = display.subtitle?.localized(for: languages)
            picture = display.image?.data
            symbol = display.image?.systemName ?? display.image?.name
            kind = type(of: entity).typeDisplayRepresentation.name.localized(for: languages)
        }
    }

    /// The name of the app.
    public let name: String
    /// What was captured.
    public let content: SemanticContentDescriptor
    /// All results, best first.
    public let items: [Item]
    /// The number of results that are shown at first.
    public let limit: Int
    /// The title of the search in the app; nil without one.
    public let moreTitle: String?
    let languages: [String]

    init(
        name: String, content: SemanticContentDescriptor, items: [Item], limit: Int, moreTitle: String?,
        languages: [String]
    ) {
        (self.name, self.content, self.items, self.limit) = (name, content, items, max(1, limit))
        (self.moreTitle, self.languages) = (moreTitle, languages)
    }

    /// The results that are shown at first.
    public var shown: ArraySlice<Item> { items.prefix(limit) }

    /// The numbers of results by their types, in the order of the first of each: “2 albums, 1 concert”.
    public var counts: String {
        var types: [(type: any AppEntity.Type, count: Int)] = []
        for item in items {
            let type = type(of: item.entity)
            if let index = types.firstIndex(where: { $0.type == type }) {
                types[index].count += 1
            } else {
                types.append((type, 1))
            }
        }
        return types.map { $0.type.typeDisplayRepresentation.localized(count: $0.count, for: languages) }
            .joined(separator: ", ")
    }
}

extension VisualSearchSheet {
    /// The sheet for a terminal: the results with their numbers in two columns, a single one in the full width.
    ///
    /// - Parameter width: the columns of the terminal.
    public func text(width: Int = 80) -> String {
        guard !items.isEmpty else { return "\(name.withoutControls): nothing found" }
        let cells = shown.enumerated().map { index, item in
            let second = [item.subtitle, item.kind].compactMap { $0 }.joined(separator: " · ")
            return [
                "\(index + 1)".leftPadded(to: 3) + "  " + item.title.withoutControls,
                "     " + second.withoutControls,
            ]
        }
        var lines = ["\(name.withoutControls): \(counts.withoutControls)"]
        let half = width / 2
        if cells.count == 1 {
            lines += cells[0].map { $0.truncated(to: width) }
        } else {
            for start in stride(from: 0, to: cells.count, by: 2) {
                let right = start + 1 < cells.count ? cells[start + 1] : ["", ""]
                for (left, right) in zip(cells[start], right) {
                    let left = left.truncated(to: half - 1)
                    let padding = String(repeating: " ", count: half - left.count)
                    lines.append(right.isEmpty ? left : left + padding + right.truncated(to: half - 1))
                }
            }
        }
        if let moreTitle {
            lines.append("  m  More results: \(moreTitle.withoutControls)".truncated(to: width))
        }
        return lines.joined(separator: "\n")
    }
}

extension String {
    /// The text without what moves the cursor or changes colors: a name of an entity may come from anywhere.
    var withoutControls: String {
        String(
            String.UnicodeScalarView(unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 })
        )
    }

    fileprivate func leftPadded(to count: Int) -> String {
        String(repeating: " ", count: max(0, count - self.count)) + self
    }

    fileprivate func truncated(to count: Int) -> String {
        self.count <= count ? self : prefix(max(0, count - 1)) + "…"
    }
}
