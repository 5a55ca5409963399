#include "uart.h"

#include <avr/interrupt.h>
#include <avr/io.h>

namespace picker {

namespace {

constexpr uint8_t RECEIVE_SIZE = 128;  // at 500 kBd 2.5 ms: longer than I2C, gravity and telemetry keep the program busy
constexpr uint16_t DIVIDER = uint16_t((F_CPU + 4UL * PICKER_BAUD) / (8UL * PICKER_BAUD) - 1);
constexpr uint8_t LISTEN = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);

static_assert((RECEIVE_SIZE & (RECEIVE_SIZE - 1)) == 0, "the indices are masked");

volatile uint8_t received[RECEIVE_SIZE];
volatile uint8_t received_head, received_tail;
TransmitBuffer* outgoing;

constexpr uint8_t after(uint8_t at) { return uint8_t(at + 1) & (RECEIVE_SIZE - 1); }

}  // namespace

void uart_begin(TransmitBuffer& transmit) {
  outgoing = &transmit;
  PORTD |= _BV(PD0);  // pull-up: a line that nobody drives is idle, not noise
  UCSR0B = 0;
  UCSR0A = _BV(U2X0);  // before the divider: half the rounding error at 115 200, none at 500 000
  UBRR0 = DIVIDER;
  UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
  UCSR0B = LISTEN;
}

bool uart_pending() { return received_head != received_tail; }

uint8_t uart_take() {
  const uint8_t at = received_tail, byte = received[at];
  received_tail = after(at);
  return byte;
}

void uart_send() {
  if (!outgoing->empty()) UCSR0B = LISTEN | _BV(UDRIE0);
}

}  // namespace picker

// A byte that finds no room is lost, and its frame with it: the checksum tells.
ISR(USART_RX_vect) {
  using namespace picker;
  const uint8_t byte = UDR0, at = received_head, next = after(at);
  if (next == received_tail) return;
  received[at] = byte;
  received_head = next;
}

ISR(USART_UDRE_vect) {
  using namespace picker;
  if (outgoing->empty()) {
    UCSR0B = LISTEN;
  } else {
    UDR0 = outgoing->pop();
  }
}
