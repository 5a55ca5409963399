// Where the time goes.  A build for a simulator defines PICKER_MARK to tell it which section runs (board/marker.h);
// everywhere else marks are nothing.
#pragma once

#ifndef PICKER_MARK
#define PICKER_MARK(section)
#endif
