// Why the board started: by its supply, its reset line, or because something went wrong.
#pragma once

namespace picker {

// True after a brown-out or a bite of the watchdog, as far as that can be known.
bool restarted_by_failure();

// The watchdog is about to bite: remembered over the reset.
void reset_note_stuck();

}  // namespace picker
