// One import suffices: what the names of this module are used with comes along, as Foundation does with App Intents.
@_exported import Catalogs
@_exported import Compute
@_exported import FeaturePrints
@_exported import Foundation
@_exported import Imaging

#if DefaultModel
    @_exported import DefaultModel
#endif
