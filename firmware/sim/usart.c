/* USART0 as the data sheet has it, in place of simavr's: a byte takes ten bit times, the receiver holds three bytes and
 * loses what starts while it is full, and two sides at different speeds hear noise. */
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

enum { RXC = 0x80, TXC = 0x40, UDRE = 0x20, FE = 0x10, DOR = 0x08, U2X = 0x02, MPCM = 0x01 };
enum { RXCIE = 0x80, TXCIE = 0x40, UDRIE = 0x20, RXEN = 0x10, TXEN = 0x08, UCSZ2 = 0x04 };
enum { FRAME_8N1 = 0x06 };

static uint32_t bit_cycles(const avr_t *avr) {
    uint32_t ubrr = avr->data[R_UBRR0L] | (avr->data[R_UBRR0H] & 15) << 8;
    return (ubrr + 1) * (avr->data[R_UCSR0A] & U2X ? 8 : 16);
}

static int is_8n1(const avr_t *avr) {
    return avr->data[R_UCSR0C] == FRAME_8N1 && !(avr->data[R_UCSR0B] & UCSZ2);
}

/* Cycles that a byte takes on the client's side of the line. */
static uint32_t line_byte_cycles(const uno_t *u) {
    uint32_t baud = u->usart.line_baud;
    return baud ? (uint32_t)((10ull * CLOCK_HZ + baud / 2) / baud) : 10 * bit_cycles(u->avr);
}

static int speeds_agree(const uno_t *u) {
    if (!is_8n1(u->avr))
        return 0;
    double ratio = (double)line_byte_cycles(u) / (10.0 * bit_cycles(u->avr));
    return ratio > 0.96 && ratio < 1.04;
}

static uint8_t noise(usart_t *s) {
    s->noise = s->noise * 1664525u + 1013904223u;
    return s->noise >> 24;
}

/* A flag has come up; the interrupt follows if the program wants it. */
static void raise_flag(uno_t *u, avr_int_vector_t *vector, uint8_t flag) {
    u->avr->data[R_UCSR0A] |= flag;
    avr_raise_interrupt(u->avr, vector);
}

static void clear_flag(uno_t *u, avr_int_vector_t *vector, uint8_t flag) {
    u->avr->data[R_UCSR0A] &= ~flag;
    vector->pending = 0;
}

/* --- towards the board ---------------------------------------------------------------------------------------- */

static void show_head(uno_t *u) {
    usart_t *s = &u->usart;
    uint8_t *status = &u->avr->data[R_UCSR0A];
    *status = s->pending && s->framing[0] ? *status | FE : *status & ~FE;
    if (s->pending)
        raise_flag(u, s->rx, RXC);
    else
        clear_flag(u, s->rx, RXC);
}

static void byte_arrives(uno_t *u, uint8_t byte) {
    usart_t *s = &u->usart;
    if (s->doomed) {
        u->counts.overruns++;
        u->avr->data[R_UCSR0A] |= DOR;
        return;
    }
    if (!(u->avr->data[R_UCSR0B] & RXEN) || u->avr->cycle < u->quiet_until || u->crashed) {
        u->counts.deaf++;
        return;
    }
    int clean = speeds_agree(u);
    if (!clean)
        u->counts.noise++;
    s->framing[s->pending] = clean ? 0 : noise(s) & 1;
    s->fifo[s->pending++] = clean ? byte : noise(s);
    u->counts.bytes_in++;
    if (s->pending == 1)
        show_head(u);
}

/* Start and stop bits of the bytes on the line, each at its time. */
static avr_cycle_count_t line_timer(avr_t *avr, avr_cycle_count_t when, void *param) {
    uno_t *u = param;
    usart_t *s = &u->usart;
    (void)avr;
    if (s->arriving) {
        s->arriving = 0;
        byte_arrives(u, s->wire[s->wire_first++].byte);
        if (s->wire_first == s->wire_count)
            s->wire_first = s->wire_count = 0;
    }
    if (s->wire_first == s->wire_count)
        return 0;
    uint64_t start = s->wire[s->wire_first].start;
    if (start > when)
        return start;
    s->arriving = 1;
    s->doomed = s->pending == FIFO;
    return when + line_byte_cycles(u);
}

static uint8_t read_udr(avr_t *avr, avr_io_addr_t address, void *param) {
    uno_t *u = param;
    usart_t *s = &u->usart;
    uint8_t byte = s->fifo[0];
    (void)address;
    avr->data[R_UCSR0A] &= ~DOR;
    if (s->pending) {
        s->pending--;
        memmove(s->fifo, s->fifo + 1, FIFO - 1);
        memmove(s->framing, s->framing + 1, FIFO - 1);
        show_head(u);
    }
    return byte;
}

void uno_line_speed(uno_t *u, uint32_t baud) {
    u->usart.line_baud = baud;
}

uint32_t uno_board_speed(const uno_t *u) {
    return u->avr->data[R_UCSR0B] & RXEN && is_8n1(u->avr) ? CLOCK_HZ / bit_cycles(u->avr) : 0;
}

void uno_send(uno_t *u, const uint8_t *data, size_t count, uint64_t cycle) {
    usart_t *s = &u->usart;
    if (s->wire_count + count > s->wire_room) {
        s->wire_room = 2 * (s->wire_count + count);
        s->wire = realloc(s->wire, s->wire_room * sizeof *s->wire);
    }
    uint64_t now = u->avr->cycle, start = cycle > now ? cycle : now;
    if (start < s->wire_free)
        start = s->wire_free;
    int asleep = s->wire_first == s->wire_count;
    for (size_t i = 0; i < count; i++, start += line_byte_cycles(u))
        s->wire[s->wire_count++] = (wire_byte_t){data[i], start};
    s->wire_free = start;
    if (asleep && count) {
        uint64_t first = s->wire[s->wire_first].start;
        avr_cycle_timer_register(u->avr, first - now, line_timer, u);
    }
}

uint64_t uno_line_free(const uno_t *u) {
    return u->usart.wire_free;
}

/* --- from the board ------------------------------------------------------------------------------------------- */

static void byte_left(uno_t *u, uint8_t byte, uint64_t when) {
    usart_t *s = &u->usart;
    if (s->sent_count == s->sent_room) {
        s->sent_room = s->sent_room ? 2 * s->sent_room : 4096;
        s->sent = realloc(s->sent, s->sent_room);
        s->sent_at = realloc(s->sent_at, s->sent_room * sizeof *s->sent_at);
    }
    int clean = speeds_agree(u);
    if (!clean)
        u->counts.noise++;
    s->sent_at[s->sent_count] = when;
    s->sent[s->sent_count++] = clean ? byte : noise(s);
    u->counts.bytes_out++;
}

static avr_cycle_count_t transmit_timer(avr_t *avr, avr_cycle_count_t when, void *param) {
    uno_t *u = param;
    usart_t *s = &u->usart;
    byte_left(u, s->shift, when);
    if (!s->buffered) {
        s->shifting = 0;
        raise_flag(u, s->tx, TXC);
        return 0;
    }
    s->buffered = 0;
    s->shift = s->buffer;
    raise_flag(u, s->udre, UDRE);
    return when + 10 * bit_cycles(avr);
}

static void write_udr(avr_t *avr, avr_io_addr_t address, uint8_t value, void *param) {
    uno_t *u = param;
    usart_t *s = &u->usart;
    (void)address;
    if (!(avr->data[R_UCSR0B] & TXEN))
        return;
    if (!s->shifting) {
        s->shifting = 1;
        s->shift = value;
        avr_cycle_timer_register(avr, 10 * bit_cycles(avr), transmit_timer, u);
        raise_flag(u, s->udre, UDRE);
    } else if (!s->buffered) {
        s->buffered = 1;
        s->buffer = value;
        clear_flag(u, s->udre, UDRE);
    } else {
        u->counts.transmit_lost++;
    }
}

size_t uno_fetch(uno_t *u, uint8_t *data, uint64_t *cycles, size_t room) {
    usart_t *s = &u->usart;
    size_t count = s->sent_count - s->sent_first;
    if (count > room)
        count = room;
    if (!count)
        return 0;
    memcpy(data, s->sent + s->sent_first, count);
    memcpy(cycles, s->sent_at + s->sent_first, count * sizeof *cycles);
    s->sent_first += count;
    if (s->sent_first == s->sent_count)
        s->sent_first = s->sent_count = 0;
    return count;
}

/* --- control registers ---------------------------------------------------------------------------------------- */

static void write_ucsra(avr_t *avr, avr_io_addr_t address, uint8_t value, void *param) {
    uno_t *u = param;
    (void)address;
    avr->data[R_UCSR0A] = (avr->data[R_UCSR0A] & ~(U2X | MPCM)) | (value & (U2X | MPCM));
    if (value & TXC)
        clear_flag(u, u->usart.tx, TXC);
}

static void write_ucsrb(avr_t *avr, avr_io_addr_t address, uint8_t value, void *param) {
    uno_t *u = param;
    usart_t *s = &u->usart;
    uint8_t rising = value & ~avr->data[R_UCSR0B];
    (void)address;
    avr->data[R_UCSR0B] = value;
    if (!(value & RXEN)) {
        s->pending = 0;
        avr->data[R_UCSR0A] &= ~DOR;
        show_head(u);
    }
    if (rising & RXCIE && avr->data[R_UCSR0A] & RXC)
        raise_flag(u, s->rx, RXC);
    if (rising & TXCIE && avr->data[R_UCSR0A] & TXC)
        raise_flag(u, s->tx, TXC);
    if (rising & UDRIE && avr->data[R_UCSR0A] & UDRE)
        raise_flag(u, s->udre, UDRE);
}

void usart_attach(uno_t *u) {
    usart_t *s = &u->usart;
    s->rx = find_vector(u->avr, V_USART_RX);
    s->udre = find_vector(u->avr, V_USART_UDRE);
    s->tx = find_vector(u->avr, V_USART_TX);
    s->noise = 1;
    for (uint16_t address = R_UCSR0A; address <= R_UDR0; address++) {
        on_read(u, address, NULL);
        on_write(u, address, NULL);
    }
    on_write(u, R_UCSR0A, write_ucsra);
    on_write(u, R_UCSR0B, write_ucsrb);
    on_write(u, R_UDR0, write_udr);
    on_read(u, R_UDR0, read_udr);
}

/* After a reset of the AVR, which has thrown all cycle timers away: the line goes on, the byte under way is lost. */
void usart_reset(uno_t *u) {
    usart_t *s = &u->usart;
    u->avr->data[R_UCSR0A] = UDRE;
    u->avr->data[R_UCSR0B] = 0;
    u->avr->data[R_UCSR0C] = FRAME_8N1;
    s->pending = s->shifting = s->buffered = s->doomed = 0;
    if (s->arriving) {
        s->arriving = 0;
        s->wire_first++;
        u->counts.deaf++;
    }
    if (s->wire_first == s->wire_count) {
        s->wire_first = s->wire_count = 0;
        return;
    }
    uint64_t next = s->wire[s->wire_first].start, now = u->avr->cycle;
    avr_cycle_timer_register(u->avr, next > now ? next - now : 1, line_timer, u);
}

void usart_free(uno_t *u) {
    free(u->usart.wire);
    free(u->usart.sent);
    free(u->usart.sent_at);
}
