// The lanes as scalars of whatever machine there is: the transforms have no order to choose.
#include "../kernel_tables.h"

#define WINOGRAD(name) lk_winograd_##name##_portable
#include "winograd_lanes.h"
