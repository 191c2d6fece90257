// The instructions of Intel's AMX that quantized_convolution_amx.h uses, in plain C, for CPUs without them: include it
// before targets/amx.c. It ends the program where a CPU would fault. Intel: "64 and IA-32 Architectures Software
// Developer's Manual", volume 2, instructions LDTILECFG, TILELOADD, TDPBUSD, TILESTORED, TILEZERO and TILERELEASE.

#if defined(__x86_64__)
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { EMULATED_TILES = 8, EMULATED_ROWS = 16, EMULATED_BYTES = 64 };

static struct {
    int is_configured;
    int rows[EMULATED_TILES];
    int row_bytes[EMULATED_TILES];
    uint8_t data[EMULATED_TILES][EMULATED_ROWS][EMULATED_BYTES];
} tiles;

static void require(int holds) {
    if (!holds) abort();
}

static void load_configuration(const void *from) {
    const uint8_t *bytes = from;
    require(bytes[0] == 1);
    memset(&tiles, 0, sizeof tiles);
    tiles.is_configured = 1;
    for (int i = 1; i < 16; i++) require(bytes[i] == 0);
    for (int i = 0; i < 16; i++) {
        uint16_t row_bytes;
        memcpy(&row_bytes, bytes + 16 + 2 * i, sizeof row_bytes);
        const int rows = bytes[48 + i];
        require(i < EMULATED_TILES || (rows == 0 && row_bytes == 0));
        if (i >= EMULATED_TILES) continue;
        require(rows <= EMULATED_ROWS && row_bytes <= EMULATED_BYTES && (rows == 0) == (row_bytes == 0));
        tiles.rows[i] = rows;
        tiles.row_bytes[i] = row_bytes;
    }
}

static void zero_tile(int tile) {
    require(tiles.is_configured && tiles.rows[tile] > 0);
    memset(tiles.data[tile], 0, sizeof tiles.data[tile]);
}

static void load_tile(int tile, const void *from, ptrdiff_t stride) {
    zero_tile(tile);
    for (int row = 0; row < tiles.rows[tile]; row++)
        memcpy(tiles.data[tile][row], (const uint8_t *)from + row * stride, (size_t)tiles.row_bytes[tile]);
}

static void store_tile(int tile, void *to, ptrdiff_t stride) {
    require(tiles.is_configured && tiles.rows[tile] > 0);
    for (int row = 0; row < tiles.rows[tile]; row++)
        memcpy((uint8_t *)to + row * stride, tiles.data[tile][row], (size_t)tiles.row_bytes[tile]);
}

static void multiply_tiles(int sums, int left, int right) {
    require(tiles.is_configured && sums != left && sums != right && left != right);
    require(tiles.rows[sums] == tiles.rows[left] && tiles.row_bytes[sums] == tiles.row_bytes[right]);
    require(tiles.row_bytes[left] % 4 == 0 && tiles.row_bytes[left] / 4 == tiles.rows[right]);
    for (int row = 0; row < tiles.rows[sums]; row++)
        for (int column = 0; column < tiles.row_bytes[sums]; column += 4) {
            uint32_t sum;
            memcpy(&sum, tiles.data[sums][row] + column, sizeof sum);
            for (int quad = 0; quad < tiles.rows[right]; quad++)
                for (int i = 0; i < 4; i++)
                    sum +=
                        (uint32_t)(tiles.data[left][row][quad * 4 + i] * (int8_t)tiles.data[right][quad][column + i]);
            memcpy(tiles.data[sums][row] + column, &sum, sizeof sum);
        }
}

static void release_tiles(void) { memset(&tiles, 0, sizeof tiles); }

#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbusd
#define _tile_loadconfig load_configuration
#define _tile_loadd load_tile
#define _tile_stored store_tile
#define _tile_zero zero_tile
#define _tile_dpbusd multiply_tiles
#define _tile_release release_tiles
#endif
