import VisualSearchMacros

@UnionValue
enum Found {
    case cover(Cover)
}
