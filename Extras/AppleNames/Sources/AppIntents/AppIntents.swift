#if AppleNames
@_exported public import VisualSearchMacros
#endif
