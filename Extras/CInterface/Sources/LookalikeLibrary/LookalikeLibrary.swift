@_exported import CInterface
