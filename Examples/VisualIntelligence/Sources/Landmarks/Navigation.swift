/// The screens of the app.
public actor Navigation {
    public private(set) var visited: [String] = []

    public init() {}

    public func showSearch(_ count: Int) { visited.append("search with \(count) results") }
    public func show(_ landmark: LandmarkEntity) { visited.append(landmark.name) }
}
