@_exported import VisualSearchMacros
