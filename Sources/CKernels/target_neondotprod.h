#pragma clang attribute push(__attribute__((target("dotprod"))), apply_to = function)
