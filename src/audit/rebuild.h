/* rr_rebuild: makes all results anew from the streams, in another generation of keys (generation.h).
 *
 * For a wrong mapping or a changed contract: reading the streams again into the
 * same keys would only find the old facts. In this order:
 *
 *   sweep    remove what unfinished rebuilds left
 *   read     every stream from its first message, in rounds, until little is left
 *   verify   cell by cell against a second reading, in memory
 *   pause    the daemons begin no batch, and the rest of the streams is read
 *   switch   name the new generation, by a swap guarded by the lock of the rebuild
 *   drop     remove the old generation, a few seconds later: readers may be at it
 *
 * Until the switch readers and daemons see nothing of the new generation. After it
 * only garbage is left to remove. So a rebuild may die at any moment. The daemon
 * that starts with the new generation reads again what was delivered before the
 * switch (checkpoint.h). So no record is lost that was acknowledged meanwhile.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_REBUILD_H
#define RR_REBUILD_H

#include "rebuild_options.h"

/* Blocks. OK also where what was rebuilt differs from what the streams say: then nothing was switched over, and the
 * differences are in the totals. INPUT: a stream has lost its beginning. CONFIG: others keep results below this prefix.
 * UNAVAILABLE: a server did not answer, or another rebuild is at work; run it again. */
rr_status rr_rebuild_run(const rr_rebuild_options *options, rr_rebuild_totals *totals, rr_error *error);

#endif
