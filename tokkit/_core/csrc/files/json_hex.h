/* Reads the four hexadecimal digits of a \uXXXX escape. */
#ifndef TK_JSON_HEX_H
#define TK_JSON_HEX_H
#include "base.h"

/* Their number, or UINT32_MAX; nothing is read after a byte that is no digit. */
static inline uint32_t tk_json_hex(const uint8_t *p) {
    uint32_t value = 0;
    for (int k = 0; k < 4; k++, p++) {
        uint8_t digit = (uint8_t)(*p - '0'), letter = (uint8_t)((*p | 0x20) - 'a');
        if (digit > 9 && letter > 5) return UINT32_MAX;
        value = value << 4 | (digit <= 9 ? digit : letter + 10u);
    }
    return value;
}

#endif
