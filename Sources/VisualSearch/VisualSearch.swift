// One import suffices: this module brings the names that handlers need, as App Intents brings Foundation's.
@_exported import Catalogs
@_exported import Compute
@_exported import FeaturePrints
@_exported import Foundation
@_exported import Imaging

#if DefaultModel
@_exported import DefaultModel
#endif
