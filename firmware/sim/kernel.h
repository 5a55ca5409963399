/* What the parts of the simulated Uno share. */
#ifndef PICKER_UNO_KERNEL_H
#define PICKER_UNO_KERNEL_H

#include "sim_avr.h"
#include "uno.h"

#define CLOCK_HZ 16000000u
#define PINS 14
#define MARKERS 65536
#define FIFO 3 /* two bytes of buffer and the shift register */

/* Data addresses of the ATmega328P. */
enum {
    R_PINB = 0x23, R_DDRB, R_PORTB, R_PINC, R_DDRC, R_PORTC, R_PIND, R_DDRD, R_PORTD,
    R_TIFR0 = 0x35, R_TIFR1, R_TIFR2, R_GPIOR0 = 0x3E, R_SMCR = 0x53, R_MCUSR = 0x54,
    R_TWBR = 0xB8, R_TWSR, R_TWAR, R_TWDR, R_TWCR,
    R_UCSR0A = 0xC0, R_UCSR0B, R_UCSR0C, R_UBRR0L = 0xC4, R_UBRR0H, R_UDR0
};
enum { V_USART_RX = 18, V_USART_UDRE = 19, V_USART_TX = 20, V_TWI = 24 };

typedef struct {
    uint8_t byte;
    uint64_t start;
} wire_byte_t;

typedef struct {
    avr_int_vector_t *rx, *udre, *tx;
    uint32_t line_baud;
    /* towards the board */
    wire_byte_t *wire;
    size_t wire_count, wire_first, wire_room;
    uint64_t wire_free;
    int arriving, doomed; /* a byte is between start and stop bit; it will be lost */
    uint8_t fifo[FIFO], framing[FIFO];
    int pending;
    /* from the board */
    int shifting, buffered;
    uint8_t shift, buffer;
    uint8_t *sent;
    uint64_t *sent_at;
    size_t sent_count, sent_first, sent_room;
    uint32_t noise; /* state of the generator */
} usart_t;

typedef struct {
    uint8_t reg[256];
    uint8_t applied[64]; /* LED0_ON_L.. as the outputs have them */
    uint8_t pointer;
    int powered, connected, selected, reading, expect_pointer, stopped;
    int general_call;
    double oscillator_hz;
} pca9685_t;

enum twi_operation { TWI_NOTHING, TWI_START, TWI_ADDRESS, TWI_WRITE, TWI_READ, TWI_STOP };

typedef struct {
    avr_int_vector_t *vector;
    enum twi_operation operation;
    int started, addressed, reading, waiting;
    int bus;       /* enum uno_bus */
    int clocks;    /* SCL pulses seen while SDA is held */
    int scl_level; /* as the pins drive it while the TWI is off */
} twi_t;

typedef struct {
    avr_t *avr;
    int high;
    uint64_t rose, last_rose, width;
    uint32_t count;
} pin_t;

struct uno {
    avr_t *avr;
    usart_t usart;
    twi_t twi;
    pca9685_t chip;
    pin_t pin[PINS];
    uint64_t quiet_until, program_since;
    avr_run_t run;
    int crashed, hidden_cause;
    char trouble[200];
    /* statistics */
    uno_statistics_t counts;
    int interrupts_seen_on, blocked;
    uint64_t blocked_since;
    uint32_t blocked_at;
    uint8_t *marker;
    uint64_t *marker_at;
    size_t marker_count, marker_first;
    /* symbols of the ELF */
    avr_symbol_t **symbol;
    size_t symbols;
};

/* Replace what simavr does when the program touches a register. */
static inline void on_write(uno_t *u, uint16_t address, avr_io_write_t callback) {
    u->avr->io[AVR_DATA_TO_IO(address)].w.c = callback;
    u->avr->io[AVR_DATA_TO_IO(address)].w.param = callback ? u : NULL;
}

static inline void on_read(uno_t *u, uint16_t address, avr_io_read_t callback) {
    u->avr->io[AVR_DATA_TO_IO(address)].r.c = callback;
    u->avr->io[AVR_DATA_TO_IO(address)].r.param = callback ? u : NULL;
}

avr_int_vector_t *find_vector(avr_t *avr, int number);

void usart_attach(uno_t *u);
void usart_reset(uno_t *u);
void usart_free(uno_t *u);

void twi_attach(uno_t *u);
void twi_reset(uno_t *u);

void pca9685_power_on(pca9685_t *chip);
int pca9685_start(pca9685_t *chip, uint8_t address);
int pca9685_write(pca9685_t *chip, uint8_t byte);
uint8_t pca9685_read(pca9685_t *chip);
int pca9685_stop(pca9685_t *chip);

void pins_attach(uno_t *u);
void pins_reset(uno_t *u);

#endif
