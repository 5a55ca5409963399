/* A program for tests of the simulated Uno: it reads and writes any register, as the serial line says.
 *
 *   'w' low high value    write;  no answer         'c'  answers MCUSR as it was at the start
 *   'r' low high          read;  answers the value  's' n  busy for n ms, deaf
 *   'e' low high value    EEPROM write; no answer   'x'  watchdog of 15 ms, and for ever
 *   'z'                   asleep until a byte comes, then answers it
 */
#include <avr/eeprom.h>
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <avr/wdt.h>
#include <util/delay.h>

static uint8_t cause __attribute__((section(".noinit")));
static volatile uint8_t woken_by;

void save_cause(void) __attribute__((naked, used, section(".init3")));
void save_cause(void) {
    cause = MCUSR;
    MCUSR = 0;
    wdt_disable();
}

ISR(USART_RX_vect) {
    woken_by = UDR0;
    UCSR0B &= ~(1 << RXCIE0);
}

static uint8_t get(void) {
    while (!(UCSR0A & (1 << RXC0)))
        ;
    return UDR0;
}

static void put(uint8_t value) {
    while (!(UCSR0A & (1 << UDRE0)))
        ;
    UDR0 = value;
}

int main(void) {
    UCSR0A = 1 << U2X0;
    UBRR0 = 3;
    UCSR0B = 1 << RXEN0 | 1 << TXEN0;
    for (;;) {
        uint8_t command = get(), value;
        if (command == 'c') {
            put(cause);
        } else if (command == 's') {
            for (value = get(); value; value--)
                _delay_ms(1);
        } else if (command == 'x') {
            wdt_enable(WDTO_15MS);
            for (;;)
                ;
        } else if (command == 'z') {
            UCSR0B |= 1 << RXCIE0;
            set_sleep_mode(SLEEP_MODE_IDLE);
            sleep_enable();
            sei();
            sleep_cpu();
            sleep_disable();
            cli();
            put(woken_by);
        } else {
            uint16_t address = get();
            address |= get() << 8;
            if (command == 'r') {
                put(*(volatile uint8_t *)address);
            } else if (command == 'w') {
                *(volatile uint8_t *)address = get();
            } else if (command == 'e') {
                eeprom_write_byte((uint8_t *)address, get());
            }
        }
    }
}
