/* Strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_UTF8_H
#define RR_UTF8_H

#include <rr/slice.h>

/* Length of the longest valid text at the beginning: text.len if all of it is valid. A NUL is valid here. */
size_t rr_utf8_valid_len(rr_slice text);

/* Bytes of the one character at the beginning, 0 if there is no valid one. */
size_t rr_utf8_char_len(rr_slice text);

/* ASCII without NUL, as nearly all texts are. */
bool rr_utf8_is_plain(rr_slice text);

#endif
