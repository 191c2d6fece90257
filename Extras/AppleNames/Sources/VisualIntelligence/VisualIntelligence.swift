#if AppleNames
@_exported public import AppleNames
@_exported public import VisualSearchMacros
#endif
