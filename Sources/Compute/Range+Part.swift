extension Range<Int> {
    /// One of `count` parts of nearly the same length.
    package func part(_ index: Int, of count: Int) -> Range<Int> {
        (lowerBound + index * self.count / count)..<(lowerBound + (index + 1) * self.count / count)
    }
}
