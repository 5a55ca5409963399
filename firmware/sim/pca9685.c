/* NXP PCA9685 as an I2C slave: 16 outputs of 4096 counts a period from an oscillator of its own.  It does not know of the
 * Uno's resets, and what is written takes effect at the STOP. */
#include <string.h>

#include "kernel.h"

enum { MODE1 = 0x00, MODE2 = 0x01, SUBADR1 = 0x02, ALLCALLADR = 0x05, LED0 = 0x06, LED_LAST = 0x45, ALL_LED = 0xFA, PRE_SCALE = 0xFE };
enum { RESTART = 0x80, EXTCLK = 0x40, AI = 0x20, SLEEP = 0x10, SUB1 = 0x08, ALLCALL = 0x01 };
enum { ADDRESS = 0x40, RESET_CALL = 0x06, FULL = 0x10, PRE_SCALE_LEAST = 3 };
enum { OCH = 0x08 };

void pca9685_power_on(pca9685_t *chip) {
    memset(chip->reg, 0, sizeof chip->reg);
    chip->reg[MODE1] = SLEEP | ALLCALL;
    chip->reg[MODE2] = 0x04;
    memcpy(chip->reg + SUBADR1, "\xE2\xE4\xE8\xE0", 4);
    chip->reg[PRE_SCALE] = 0x1E;
    for (int led = 0; led < 16; led++)
        chip->reg[LED0 + 4 * led + 3] = FULL;
    memcpy(chip->applied, chip->reg + LED0, sizeof chip->applied);
    chip->selected = chip->reading = chip->stopped = chip->general_call = 0;
    chip->pointer = 0;
}

/* Whether it answers to `address` (seven bits): its own, all-call, and sub-addresses where they are switched on. */
static int listens(const pca9685_t *chip, uint8_t address) {
    if (address == ADDRESS)
        return 1;
    if (chip->reg[MODE1] & ALLCALL && address == chip->reg[ALLCALLADR] >> 1)
        return 1;
    for (int i = 0; i < 3; i++)
        if (chip->reg[MODE1] & SUB1 >> i && address == chip->reg[SUBADR1 + i] >> 1)
            return 1;
    return 0;
}

/* START and the byte after it, address and R/W; whether it is acknowledged. */
int pca9685_start(pca9685_t *chip, uint8_t address) {
    chip->general_call = address == 0;
    chip->selected = chip->powered && chip->connected && (chip->general_call || listens(chip, address >> 1));
    chip->reading = address & 1;
    chip->expect_pointer = !chip->reading && !chip->general_call;
    return chip->selected;
}

static void advance_pointer(pca9685_t *chip) {
    if (!(chip->reg[MODE1] & AI))
        return;
    chip->pointer = chip->pointer == LED_LAST ? MODE1 : chip->pointer + 1;
}

static int outputs_run(const pca9685_t *chip) {
    for (int led = 0; led < 16; led++)
        if (!(chip->applied[4 * led + 3] & FULL))
            return 1;
    return 0;
}

/* Falling asleep with outputs running stops them and sets RESTART; writing a one to it, awake, brings them back. */
static void write_mode1(pca9685_t *chip, uint8_t value) {
    uint8_t old = chip->reg[MODE1], restart = old & RESTART;
    if (value & SLEEP && !(old & SLEEP) && outputs_run(chip)) {
        restart = RESTART;
        chip->stopped = 1;
    }
    if (value & RESTART && !(value & SLEEP) && restart) {
        restart = 0;
        chip->stopped = 0;
    }
    chip->reg[MODE1] = (value & ~(RESTART | EXTCLK)) | restart | (old & EXTCLK);
    if (value & EXTCLK && value & SLEEP && old & SLEEP)
        chip->reg[MODE1] |= EXTCLK;
}

static void write_register(pca9685_t *chip, uint8_t address, uint8_t value) {
    if (address == MODE1) {
        write_mode1(chip, value);
    } else if (address == PRE_SCALE) {
        if (chip->reg[MODE1] & SLEEP)
            chip->reg[PRE_SCALE] = value < PRE_SCALE_LEAST ? PRE_SCALE_LEAST : value;
    } else if (address >= ALL_LED && address < ALL_LED + 4) {
        for (int led = 0; led < 16; led++)
            chip->reg[LED0 + 4 * led + address - ALL_LED] = value;
    } else if (address <= LED_LAST) {
        chip->reg[address] = value;
    }
}

/* Outputs follow the registers; where any of those changed, a stopped chip runs again. */
static void apply(pca9685_t *chip) {
    if (!memcmp(chip->applied, chip->reg + LED0, sizeof chip->applied))
        return;
    memcpy(chip->applied, chip->reg + LED0, sizeof chip->applied);
    chip->stopped = 0;
    chip->reg[MODE1] &= ~RESTART;
}

int pca9685_write(pca9685_t *chip, uint8_t byte) {
    if (!chip->selected || !chip->powered || !chip->connected)
        return 0;
    if (chip->general_call) {
        if (byte != RESET_CALL)
            return 0;
        pca9685_power_on(chip);
    } else if (chip->expect_pointer) {
        chip->expect_pointer = 0;
        chip->pointer = byte;
    } else {
        write_register(chip, chip->pointer, byte);
        if (chip->reg[MODE2] & OCH)
            apply(chip);
        advance_pointer(chip);
    }
    return 1;
}

uint8_t pca9685_read(pca9685_t *chip) {
    if (!chip->selected || !chip->powered || !chip->connected)
        return 0xFF;
    int write_only = chip->pointer >= ALL_LED && chip->pointer < ALL_LED + 4;
    uint8_t value = write_only ? 0 : chip->reg[chip->pointer];
    advance_pointer(chip);
    return value;
}

/* STOP; 1 where it ended a transaction with this chip. */
int pca9685_stop(pca9685_t *chip) {
    int mine = chip->selected && chip->powered && chip->connected;
    if (mine && !chip->reading)
        apply(chip);
    chip->selected = 0;
    return mine;
}

/* --- what the world sees -------------------------------------------------------------------------------------- */

void uno_chip_oscillator(uno_t *u, double hertz) {
    u->chip.oscillator_hz = hertz;
}

void uno_chip_connected(uno_t *u, int connected) {
    u->chip.connected = connected;
}

void uno_chip_power(uno_t *u, int on) {
    if (on && !u->chip.powered)
        pca9685_power_on(&u->chip);
    u->chip.powered = on;
}

uint8_t uno_chip_register(const uno_t *u, uint8_t address) {
    return u->chip.reg[address];
}

void uno_chip_set_register(uno_t *u, uint8_t address, uint8_t value) {
    u->chip.reg[address] = value;
    memcpy(u->chip.applied, u->chip.reg + LED0, sizeof u->chip.applied);
}

uint16_t uno_chip_counts(const uno_t *u, int channel) {
    const pca9685_t *chip = &u->chip;
    const uint8_t *led = chip->applied + 4 * channel;
    if (!chip->powered || chip->reg[MODE1] & SLEEP || chip->stopped || led[3] & FULL)
        return 0;
    if (led[1] & FULL)
        return 4096;
    int on = led[0] | (led[1] & 15) << 8, off = led[2] | (led[3] & 15) << 8;
    return (off - on) & 4095;
}

double uno_chip_count_us(const uno_t *u) {
    return 1e6 * (u->chip.reg[PRE_SCALE] + 1) / u->chip.oscillator_hz;
}
