// The whole package under one name. Programs that need a layer alone import that.
@_exported import Catalogs
@_exported import DefaultModel
@_exported import FeaturePrints
@_exported import NearestNeighbors
@_exported import PixelBuffers
@_exported import Resizing
