static float sigmoid(float x) { return 1 / (1 + expf(-x)); }

static float softplus(float x) { return fmaxf(x, 0) + log1pf(expf(-fabsf(x))); }

static float activated(const lk_activation *a, float x) {
    switch (a->kind) {
    case LK_CLAMP: return fminf(fmaxf(x, a->alpha), a->beta);
    case LK_LEAKY_RELU: return x < 0 ? x * a->alpha : x;
    case LK_ELU: return x < 0 ? a->alpha * expm1f(x) : x;
    case LK_SIGMOID: return sigmoid(x);
    case LK_HARD_SIGMOID: return fminf(fmaxf(x * a->alpha + a->beta, 0), 1);
    case LK_HARD_SWISH: return x * fminf(fmaxf(x / 6 + 0.5f, 0), 1);
    case LK_SILU: return x * sigmoid(x);
    case LK_GELU: return 0.5f * x * (1 + erff(x * 0.707106781f));
    case LK_GELU_TANH: return 0.5f * x * (1 + tanhf(0.797884561f * (x + 0.044715f * x * x * x)));
    case LK_MISH: return x * tanhf(softplus(x));
    case LK_SOFTPLUS: return softplus(x);
    case LK_TANH: return tanhf(x);
    case LK_ERF: return erff(x);
    case LK_EXP: return expf(x);
    case LK_LOG: return logf(x);
    case LK_SQRT: return sqrtf(x);
    case LK_ABS: return fabsf(x);
    case LK_NEGATE: return -x;
    case LK_QUANTIZE: return a->alpha * fminf(fmaxf(rintf(x / a->alpha), a->beta), a->beta + 255);
    case LK_RECIPROCAL: return 1 / x;
    }
    return x;
}

void KERNEL(activate)(const lk_activation *activation, const float *values, size_t count, float *out) {
    for (size_t i = 0; i < count; i++) out[i] = activated(activation, values[i]);
}

void KERNEL(quantize)(const float *values, float scale, uint8_t zero_point, size_t count, uint8_t *codes) {
    for (size_t i = 0; i < count; i++) codes[i] = lk_u8(fmaf(values[i], scale, zero_point));
}

void KERNEL(dequantize)(const uint8_t *codes, float scale, uint8_t zero_point, size_t count, float *values) {
    for (size_t i = 0; i < count; i++) values[i] = (float)(codes[i] - zero_point) * scale;
}

static float operand(lk_operand operand, size_t i) {
    switch (operand.mode) {
    case LK_EACH: return operand.values[i];
    case LK_SAME_BLOCK: return operand.values[i % LK_CHANNEL_BLOCK];
    case LK_SAME_VALUE: return operand.values[0];
    }
    return 0;
}

void KERNEL(combine)(lk_combination operation, lk_operand left, lk_operand right, size_t count, float *out) {
    for (size_t i = 0; i < count; i++) {
        const float x = operand(left, i), y = operand(right, i);
        switch (operation) {
        case LK_ADD: out[i] = x + y; break;
        case LK_SUBTRACT: out[i] = x - y; break;
        case LK_MULTIPLY: out[i] = x * y; break;
        case LK_DIVIDE: out[i] = x / y; break;
        case LK_MAXIMUM: out[i] = fmaxf(x, y); break;
        case LK_MINIMUM: out[i] = fminf(x, y); break;
        case LK_POWER: out[i] = powf(x, y); break;
        case LK_PRELU: out[i] = x < 0 ? x * y : x; break;
        }
    }
}
