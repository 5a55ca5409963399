/* The two-wire interface as master, in place of simavr's, which reports data status after an address, ignores the bit rate,
 * and knows no bus that is stuck.  Also the two pins as the program drives them while the interface is off. */
#include "kernel.h"

enum { TWINT = 0x80, TWEA = 0x40, TWSTA = 0x20, TWSTO = 0x10, TWWC = 0x08, TWEN = 0x04, TWIE = 0x01 };
enum { STATUS = 0xF8, PRESCALER = 0x03 };
enum {
    S_START = 0x08, S_REPEATED = 0x10, S_ADDRESS_W = 0x18, S_SENT = 0x28, S_LOST = 0x38, S_ADDRESS_R = 0x40, S_RECEIVED = 0x50,
    S_NACK = 0x08, /* added where it was not acknowledged */
    S_NONE = 0xF8
};
enum { SDA = 0x10, SCL = 0x20 };

static uint32_t scl_cycles(const avr_t *avr) {
    return 16 + (2u * avr->data[R_TWBR] << 2 * (avr->data[R_TWSR] & PRESCALER));
}

static void set_status(uno_t *u, uint8_t status) {
    u->avr->data[R_TWSR] = status | (u->avr->data[R_TWSR] & PRESCALER);
}

static void finished(uno_t *u, uint8_t status) {
    set_status(u, status);
    u->avr->data[R_TWCR] |= TWINT;
    avr_raise_interrupt(u->avr, u->twi.vector);
}

static avr_cycle_count_t operation_timer(avr_t *avr, avr_cycle_count_t when, void *param);

static void begin(uno_t *u, enum twi_operation operation, int periods) {
    u->twi.operation = operation;
    avr_cycle_timer_register(u->avr, periods * scl_cycles(u->avr), operation_timer, u);
}

/* Status after a byte went out: nobody can send a one against a line that is held low. */
static uint8_t sent(uno_t *u, int acknowledged, uint8_t byte, uint8_t status) {
    if (u->twi.bus == UNO_BUS_FREE)
        return acknowledged ? status : status + S_NACK;
    if (byte != 0) {
        u->twi.started = u->twi.addressed = 0;
        return S_LOST;
    }
    return status;
}

static void perform(uno_t *u) {
    twi_t *t = &u->twi;
    avr_t *avr = u->avr;
    uint8_t byte = avr->data[R_TWDR], bus_free = t->bus == UNO_BUS_FREE;
    enum twi_operation operation = t->operation;
    t->operation = TWI_NOTHING;
    switch (operation) {
    case TWI_START:
        set_status(u, S_NONE);
        finished(u, t->started ? S_REPEATED : S_START);
        t->started = 1;
        t->addressed = 0;
        break;
    case TWI_ADDRESS:
        t->addressed = 1;
        t->reading = byte & 1;
        finished(u, sent(u, bus_free && pca9685_start(&u->chip, byte), byte, t->reading ? S_ADDRESS_R : S_ADDRESS_W));
        break;
    case TWI_WRITE:
        finished(u, sent(u, bus_free && pca9685_write(&u->chip, byte), byte, S_SENT));
        break;
    case TWI_READ:
        avr->data[R_TWDR] = bus_free ? pca9685_read(&u->chip) : 0;
        finished(u, avr->data[R_TWCR] & TWEA ? S_RECEIVED : S_RECEIVED + S_NACK);
        break;
    case TWI_STOP:
        if (t->started)
            u->counts.bus_writes += pca9685_stop(&u->chip);
        t->started = t->addressed = 0;
        avr->data[R_TWCR] &= ~TWSTO;
        set_status(u, S_NONE);
        if (avr->data[R_TWCR] & TWSTA)
            begin(u, TWI_START, 1);
        break;
    case TWI_NOTHING:
        break;
    }
}

/* START and STOP wait for a free bus, everything for SCL. */
static avr_cycle_count_t operation_timer(avr_t *avr, avr_cycle_count_t when, void *param) {
    uno_t *u = param;
    twi_t *t = &u->twi;
    int edge = t->operation == TWI_START || t->operation == TWI_STOP;
    (void)avr, (void)when;
    t->waiting = t->bus == UNO_BUS_SCL_SHORT || (edge && t->bus != UNO_BUS_FREE);
    if (!t->waiting)
        perform(u);
    return 0;
}

static void abandon(uno_t *u) {
    twi_t *t = &u->twi;
    avr_cycle_timer_cancel(u->avr, operation_timer, u);
    t->operation = TWI_NOTHING;
    t->started = t->addressed = t->waiting = 0;
}

static void write_twcr(avr_t *avr, avr_io_addr_t address, uint8_t value, void *param) {
    uno_t *u = param;
    twi_t *t = &u->twi;
    uint8_t old = avr->data[R_TWCR], flag = old & TWINT;
    int cleared = flag && value & TWINT;
    (void)address;
    if (value & TWINT) {
        flag = 0;
        t->vector->pending = 0;
    }
    avr->data[R_TWCR] = (value & (TWEA | TWSTA | TWSTO | TWEN | TWIE)) | flag | (old & TWWC);
    if (!(value & TWEN)) {
        abandon(u);
        set_status(u, S_NONE);
        avr->data[R_TWCR] = value & (TWEA | TWIE);
        return;
    }
    if (flag) {
        if (value & ~old & TWIE)
            avr_raise_interrupt(avr, t->vector);
        return;
    }
    if (t->operation != TWI_NOTHING)
        return;
    if (value & TWSTO)
        begin(u, TWI_STOP, 1);
    else if (value & TWSTA)
        begin(u, TWI_START, 1);
    else if (cleared && t->started)
        begin(u, !t->addressed ? TWI_ADDRESS : t->reading ? TWI_READ : TWI_WRITE, 9);
}

static void write_twdr(avr_t *avr, avr_io_addr_t address, uint8_t value, void *param) {
    (void)param;
    if (avr->data[R_TWCR] & TWEN && !(avr->data[R_TWCR] & TWINT)) {
        avr->data[R_TWCR] |= TWWC;
        return;
    }
    avr->data[R_TWCR] &= ~TWWC;
    avr->data[address] = value;
}

static void write_twsr(avr_t *avr, avr_io_addr_t address, uint8_t value, void *param) {
    (void)param;
    avr->data[address] = (avr->data[address] & STATUS) | (value & PRESCALER);
}

/* --- the pins while the interface is off ---------------------------------------------------------------------- */

/* Level of a wire with its pull-up: low where the program or a slave holds it. */
static int level(const uno_t *u, uint8_t pin) {
    const avr_t *avr = u->avr;
    int ours = !(avr->data[R_TWCR] & TWEN) && avr->data[R_DDRC] & pin && !(avr->data[R_PORTC] & pin);
    int bus = u->twi.bus;
    int theirs = pin == SCL ? bus == UNO_BUS_SCL_SHORT : bus == UNO_BUS_SDA_HELD || bus == UNO_BUS_SDA_SHORT;
    return !ours && !theirs;
}

void uno_bus(uno_t *u, int state) {
    u->twi.bus = state;
    u->twi.clocks = 0;
    if (u->twi.waiting)
        avr_cycle_timer_register(u->avr, 1, operation_timer, u);
}

static void watch_scl(uno_t *u) {
    twi_t *t = &u->twi;
    int now = level(u, SCL);
    if (now && !t->scl_level && t->bus == UNO_BUS_SDA_HELD && ++t->clocks >= 9)
        uno_bus(u, UNO_BUS_FREE);
    t->scl_level = now;
}

static avr_io_write_t write_portc_before, write_ddrc_before;
static avr_io_read_t read_pinc_before;

static void write_portc(avr_t *avr, avr_io_addr_t address, uint8_t value, void *param) {
    write_portc_before(avr, address, value, param);
    watch_scl(avr->custom.data);
}

static void write_ddrc(avr_t *avr, avr_io_addr_t address, uint8_t value, void *param) {
    write_ddrc_before(avr, address, value, param);
    watch_scl(avr->custom.data);
}

static uint8_t read_pinc(avr_t *avr, avr_io_addr_t address, void *param) {
    uno_t *u = avr->custom.data;
    uint8_t value = read_pinc_before(avr, address, param) & ~(SDA | SCL);
    return value | (level(u, SDA) ? SDA : 0) | (level(u, SCL) ? SCL : 0);
}

/* Put ours in front of simavr's port, whose parameter stays. */
static void chain_port(uno_t *u) {
    avr_t *avr = u->avr;
    write_portc_before = avr->io[AVR_DATA_TO_IO(R_PORTC)].w.c;
    write_ddrc_before = avr->io[AVR_DATA_TO_IO(R_DDRC)].w.c;
    read_pinc_before = avr->io[AVR_DATA_TO_IO(R_PINC)].r.c;
    avr->io[AVR_DATA_TO_IO(R_PORTC)].w.c = write_portc;
    avr->io[AVR_DATA_TO_IO(R_DDRC)].w.c = write_ddrc;
    avr->io[AVR_DATA_TO_IO(R_PINC)].r.c = read_pinc;
}

void twi_attach(uno_t *u) {
    u->twi.vector = find_vector(u->avr, V_TWI);
    for (uint16_t address = R_TWBR; address <= R_TWCR; address++) {
        on_read(u, address, NULL);
        on_write(u, address, NULL);
    }
    on_write(u, R_TWCR, write_twcr);
    on_write(u, R_TWDR, write_twdr);
    on_write(u, R_TWSR, write_twsr);
    chain_port(u);
}

void twi_reset(uno_t *u) {
    abandon(u);
    u->avr->data[R_TWSR] = S_NONE;
    u->avr->data[R_TWDR] = 0xFF;
    u->twi.scl_level = level(u, SCL);
}
