@_exported import AppleNames
@_exported import VisualSearchMacros
