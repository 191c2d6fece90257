// The stages of an antialiased resize; the including file defines RESIZE and sets the target.

#include "../vector.h"

#include "pixel_lanes.h"
#include "row_sums.h"
#include "column_sums.h"
#include "cell_sums.h"
#include "triangle_filter.h"
#include "pixel_output.h"
#include "projective_sampling.h"
