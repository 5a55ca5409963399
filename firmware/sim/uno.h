/* A simulated Arduino Uno with a virtual PCA9685: the C interface of libpicker_uno.so.
 *
 * The AVR itself is libsimavr 1.6; USART, I2C and the chip behind it are modelled here, to the bit time, because simavr's
 * are lenient where a real board is not.  Time is counted in CPU cycles since power-on (16 000 000 a second), it never
 * depends on the machine's clock, and the same calls give the same answers: how far a call runs changes nothing.
 *
 * libsimavr is under the GNU GPL, version 3: a library built from this is too.  It is a tool for tests, not part of what
 * is installed.
 */
#ifndef PICKER_UNO_H
#define PICKER_UNO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct uno uno_t;

enum uno_cause { UNO_POWER_ON = 0, UNO_EXTERNAL = 1, UNO_BROWN_OUT = 2, UNO_WATCHDOG = 3 };

enum uno_bus {
    UNO_BUS_FREE = 0,
    UNO_BUS_SDA_HELD = 1,  /* a slave in the middle of a byte: it lets go after nine clocks */
    UNO_BUS_SDA_SHORT = 2, /* SDA to ground, for good */
    UNO_BUS_SCL_SHORT = 3  /* SCL to ground, for good */
};

/* What was counted since power-on, or since uno_clear_statistics. */
typedef struct {
    uint64_t cycles;          /* that passed while the firmware ran (not in the boot loader) */
    uint64_t asleep;          /* of them, in sleep mode */
    uint64_t longest_blocked; /* longest time with interrupts off, from the first sei on [cycles] */
    uint32_t blocked_pc;      /* byte address where that began */
    uint32_t interrupts;      /* handlers entered */
    uint32_t bytes_in;        /* that the receiver took */
    uint32_t bytes_out;       /* that left the transmitter */
    uint32_t overruns;        /* bytes lost because three were pending (DOR) */
    uint32_t noise;           /* bytes that arrived or left at a speed too different */
    uint32_t deaf;            /* bytes that came while the receiver was off: in the boot loader, say */
    uint32_t transmit_lost;   /* bytes written to a full transmitter */
    uint32_t resets;          /* of any cause */
    uint32_t watchdog_resets; /* of them, by the firmware's own watchdog */
    uint32_t bad_sleeps;      /* SLEEP in a mode in which USART and timers stand still */
    uint32_t bus_writes;      /* transactions that the PCA9685 ended with a STOP */
    uint32_t markers_lost;    /* markers that nobody fetched in time */
    uint32_t stack;           /* most bytes of stack used, by the traces it left in RAM */
    uint32_t static_ram;      /* bytes of .data and .bss */
} uno_statistics_t;

/* --- life ------------------------------------------------------------------------------------------------------- */

/* A powered Uno with the program of an ELF file; NULL, with the reason in `error`, where that cannot be loaded. */
uno_t *uno_new(const char *elf, char *error, size_t error_size);
void uno_free(uno_t *uno);

/* Let time pass until `cycle`; the last instruction may end up to 4 cycles later.  0; 1 where the AVR has crashed (time
 * goes on, outputs stay): uno_trouble says why. */
int uno_run(uno_t *uno, uint64_t cycle);
uint64_t uno_cycle(const uno_t *uno);
const char *uno_trouble(const uno_t *uno);

/* Reset the AVR now.  RAM and EEPROM survive (not RAM: power-on, brown-out), pins become inputs, the PCA9685 notices
 * nothing.  `silence` cycles belong to a boot loader that eats what arrives.  MCUSR tells the program the cause, unless
 * `hide_cause`: the boot loader of a stock Uno clears it. */
void uno_reset(uno_t *uno, int cause, uint64_t silence, int hide_cause);
uint64_t uno_started(const uno_t *uno); /* cycle at which the program started last */

/* --- serial line -------------------------------------------------------------------------------------------------- */

/* Speed of the client [bit/s]; 0: whatever the board has set.  More than 4 % from the board's is noise, both ways. */
void uno_line_speed(uno_t *uno, uint32_t baud);
uint32_t uno_board_speed(const uno_t *uno); /* from UBRR0 and U2X0; 0 while the receiver is off or it is not 8N1 */

/* Queue bytes; the first start bit comes at `cycle` or when the line is free. */
void uno_send(uno_t *uno, const uint8_t *data, size_t count, uint64_t cycle);
uint64_t uno_line_free(const uno_t *uno); /* cycle at which everything queued has been sent */

/* Take bytes that have left the board, with the cycle at which each stop bit ended; how many. */
size_t uno_fetch(uno_t *uno, uint8_t *data, uint64_t *cycles, size_t room);

/* --- PCA9685 ------------------------------------------------------------------------------------------------------ */

void uno_chip_oscillator(uno_t *uno, double hertz); /* the true one; nominal 25 MHz */
void uno_chip_connected(uno_t *uno, int connected); /* 0: the I2C wires are off; the outputs go on */
void uno_chip_power(uno_t *uno, int on);            /* off: no outputs, no answer; on again: its reset state */
void uno_bus(uno_t *uno, int state);                /* enum uno_bus */
uint8_t uno_chip_register(const uno_t *uno, uint8_t address);
void uno_chip_set_register(uno_t *uno, uint8_t address, uint8_t value); /* as found, at once on the outputs */
/* High time of an output per period [counts of 4096], 0 where it is off; what the last STOP made of it. */
uint16_t uno_chip_counts(const uno_t *uno, int channel);
double uno_chip_count_us(const uno_t *uno); /* true duration of a count [us] */

/* --- pins --------------------------------------------------------------------------------------------------------- */

/* Last complete pulse on a digital pin (Arduino's number, 0 to 13): when it rose and how long it was high [cycles]; how
 * many there were so far. */
uint32_t uno_pin_pulse(const uno_t *uno, int pin, uint64_t *rose, uint64_t *width);
void uno_adc(uno_t *uno, int channel, uint32_t millivolt); /* 0 to 7, against 5 V */

/* --- looking inside ----------------------------------------------------------------------------------------------- */

/* Take markers: values that the program wrote to GPIOR0, and when; how many. */
size_t uno_markers(uno_t *uno, uint8_t *values, uint64_t *cycles, size_t room);
void uno_statistics(uno_t *uno, uno_statistics_t *out);
void uno_clear_statistics(uno_t *uno);
int32_t uno_symbol(const uno_t *uno, const char *name); /* RAM address of a symbol of the ELF, -1 if it has none */
uint8_t uno_peek(const uno_t *uno, uint16_t address);
void uno_poke(uno_t *uno, uint16_t address, uint8_t value);
uint8_t uno_eeprom(const uno_t *uno, uint16_t address);

#ifdef __cplusplus
}
#endif
#endif
