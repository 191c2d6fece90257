// What apps use of catalogs, under one name; the store is for this package alone.
@_exported import CatalogEntities
@_exported import CatalogIndexing
@_exported import CatalogSearch
