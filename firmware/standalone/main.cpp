// The firmware without the Arduino core: avr-gcc and avr-libc are enough.

#include "src/board/board.h"

int main() {
  picker::board_begin();
  for (;;) picker::board_loop();
}
