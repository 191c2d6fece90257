import Foundation
import Lookalike

/// A page of groups with the same picture: a card per group, with what differs.
struct DuplicateSheet {
    private var cards: [HTML] = []
    private var duplicateCount = 0

    /// Adds a card.
    ///
    /// - Throws: `CatalogError` if the pictures cannot be read, and `CancellationError`.
    mutating func add(_ group: DuplicateGroup, in catalog: Catalog) async throws {
        var items: [HTML] = []
        for member in group.duplicates {
            items.append(Self.item(member, picture: try await SheetPage.picture(of: member.entity.id, in: catalog)))
        }
        duplicateCount += items.count
        cards.append(
            """
            <article\(items.count > 3 ? SheetPage.wide : "")>
            <figure>
            \(try await SheetPage.picture(of: group.reference.id, in: catalog))
            <figcaption>\(Self.name(of: group.reference))</figcaption>
            </figure>
            <ol>
            \(items)</ol>
            </article>

            """)
    }

    /// The page, in UTF-8.
    ///
    /// - Parameter condition: the entities that were compared.
    func data(compared condition: Condition) -> Data {
        let note: HTML = condition.isEverything ? "" : "\n<p>Compared: <code>\(condition.description)</code></p>"
        return SheetPage.data(
            titled: Self.summary(duplicates: duplicateCount, groups: cards.count), note: note, cards: cards,
            style: Self.style)
    }

    /// How many duplicates and groups there are, in words.
    static func summary(duplicates: Int, groups: Int) -> String {
        "\(duplicates) \(duplicates == 1 ? "duplicate" : "duplicates") in "
            + "\(groups) \(groups == 1 ? "group" : "groups")"
    }

    private static func item(_ member: DuplicateGroup.Member, picture: HTML) -> HTML {
        let distance = String(format: "%.4f", member.distance)
        return """
            <li class="\(member.difference.rawValue)">\(picture)<div>\(name(of: member.entity))\
            <data value="\(distance)">\(words(for: member.difference))</data></div></li>

            """
    }

    private static func name(of entity: CatalogEntity) -> HTML {
        let title: HTML = entity.title.map { "<b dir=\"auto\">\($0)</b>" } ?? ""
        return "\(title)<code dir=\"auto\">\(entity.id)</code>"
    }

    private static func words(for difference: DuplicateGroup.Difference) -> String {
        switch difference {
        case .none: "same pixels"
        case .quality: "size or quality"
        case .crop: "crop or border"
        case .mirrored: "mirrored"
        case .turned: "turned"
        case .mark: "text or mark"
        case .color: "colors"
        }
    }

    private static let style: HTML = """
        figure img, figure i { display: block; width: 100%; aspect-ratio: 4 / 3; padding: 0.5rem;
          background: var(--well); object-fit: contain; }
        figcaption { color: var(--ink); font-size: inherit; }
        @media (min-width: 40rem) { .wide figure img, .wide figure i { aspect-ratio: 8 / 3; } }
        li { --color: #8a8d94; grid-template-columns: 4rem 1fr; }
        .quality { --color: #0088ff; }
        .crop { --color: #ff6d00; }
        .mirrored { --color: #7c4dff; }
        .turned { --color: #00838f; }
        .mark { --color: #b26a00; }
        .color { --color: #d5006d; }
        data { display: inline-block; margin-top: 0.25rem; padding: 0 0.5rem; border: 1px solid var(--color);
          border-radius: 1rem; font-size: 0.8125rem; }

        """
}
