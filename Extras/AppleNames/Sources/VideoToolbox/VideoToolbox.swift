#if AppleNames
@_exported public import AppleNames
#endif
