// The whole package under one name. Programs that need a layer alone import that.
@_exported import CatalogEntities
@_exported import CatalogIndexing
@_exported import CatalogSearch
@_exported import Catalogs
@_exported import Compute
@_exported import FeaturePrints
@_exported import Imaging
@_exported import Inference
@_exported import LocalFeatures
@_exported import VectorSearch

#if DefaultModel
@_exported import DefaultModel
#endif
