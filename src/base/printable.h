/* Text from outside (arguments, files, keys, what a server answers), made safe to show to a person.
 *
 * Its bytes could steer a terminal or forge a line. So control characters (C0 with the line feed, DEL, C1), line and
 * paragraph separators, marks that change the direction of text, and bytes that are not UTF-8 are written as \xNN, one
 * for each byte. All other text stays as it is, backslashes too: the form is for reading, not for decoding.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_PRINTABLE_H
#define RR_PRINTABLE_H

#include "buf.h"

enum { RR_PRINTABLE_MAX = 12 }; /* bytes of one character's form */

/* Writes the form of the first character of `rest`, which is not empty, and moves `rest` behind it. Returns the length
 * of the form. Allocates nothing. */
size_t rr_printable_next(rr_slice *rest, char form[RR_PRINTABLE_MAX]);

/* Appends the form of the whole text. */
void rr_buf_printable(rr_buf *buf, rr_slice text);

/* Appends a JSON string with its quotes. Characters that need a form are written as \uNNNN, so nothing is lost; a byte
 * that is not UTF-8 has no place in JSON, and becomes the text \xNN. */
void rr_buf_json_printable(rr_buf *buf, rr_slice text);

/* Appends text that is JSON already. Characters of its strings that need a form are written as \uNNNN: it means the
 * same. */
void rr_buf_printable_json(rr_buf *buf, rr_slice json);

#endif
