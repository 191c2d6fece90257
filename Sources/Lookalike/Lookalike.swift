// What apps need under one name. Networks and local features are modules of their own, Inference and LocalFeatures; of
// them, what other modules throw or ask for is here.
@_exported import CatalogEntities
@_exported import CatalogIndexing
@_exported import CatalogSearch
@_exported import Catalogs
@_exported import Compute
@_exported import FeaturePrints
@_exported import Imaging
@_exported import VectorSearch

@_exported import struct Inference.ModelError
@_exported import struct LocalFeatures.VisualWord

#if DefaultModel
@_exported import DefaultModel
#endif
