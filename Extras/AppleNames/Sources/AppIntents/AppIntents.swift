#if AppleNames
@_exported public import AppleShapes
@_exported public import VisualSearchMacros
#endif
