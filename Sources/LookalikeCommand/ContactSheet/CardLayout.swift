import Lookalike

/// Where a query and its matches lie on a card, in pixels from its top left corner.
///
/// The query's tile is on the left. One or two matches have tiles of the same size beside it; more have tiles of half
/// the size in two lines.
struct CardLayout {
    let padding = 12
    let gap = 10
    let tile = 220
    /// Of the line below a tile that its caption is written in.
    let captionHeight = 32
    /// Matches beyond these are outlined in the query, and have no tile.
    let mostMatches = 12

    var height: Int { 2 * padding + tile + captionHeight }

    private var smallTile: Int { (tile - captionHeight - gap) / 2 }

    private func usesSmallTiles(_ count: Int) -> Bool { count > 2 }

    private func columns(_ count: Int) -> Int {
        usesSmallTiles(count) ? (min(count, mostMatches) + 1) / 2 : max(1, count)
    }

    func width(matchCount: Int) -> Int {
        let side = usesSmallTiles(matchCount) ? smallTile : tile
        return 2 * padding + tile + columns(matchCount) * (side + gap)
    }

    var query: Canvas.Area { Canvas.Area(x: padding, y: padding, width: tile, height: tile) }

    /// The tile of a match; nil for one that has none.
    func match(_ rank: Int, of count: Int) -> Canvas.Area? {
        guard rank < mostMatches else { return nil }
        let columns = columns(count)
        let side = usesSmallTiles(count) ? smallTile : tile
        return Canvas.Area(
            x: padding + tile + gap + rank % columns * (side + gap),
            y: padding + rank / columns * (side + captionHeight + gap), width: side, height: side)
    }

    /// An image in the size in which a tile shows it, and where: in the middle, as large as it fits.
    func fitting(_ image: PixelBuffer, in tile: Canvas.Area) -> (pixels: PixelBuffer, area: Canvas.Area) {
        let scale = min(Double(tile.width) / Double(image.width), Double(tile.height) / Double(image.height))
        let width = min(tile.width, max(1, Int((Double(image.width) * scale).rounded())))
        let height = min(tile.height, max(1, Int((Double(image.height) * scale).rounded())))
        let area = Canvas.Area(
            x: tile.x + (tile.width - width) / 2, y: tile.y + (tile.height - height) / 2, width: width, height: height)
        return (Resizer(width: width, height: height).resizedPixels(of: image), area)
    }
}
