/* The simulated Uno: loading, running, resetting, counting. */
#include "uno.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "avr_eeprom.h"
#include "avr_extint.h"
#include "avr_watchdog.h"
#include "kernel.h"
#include "sim_core.h"
#include "sim_elf.h"

enum { SE = 0x01, SLEEP_MODE = 0x0E };
enum { PORF = 1, EXTRF = 2, BORF = 4, WDRF = 8 };
enum { ENTRY_CYCLES = 4, WAKE_CYCLES = 4 }; /* simavr takes none */
enum { RAM_FIRST = 0x100, SUPPLY_MV = 5000, UNTOUCHED = 32 };

avr_int_vector_t *find_vector(avr_t *avr, int number) {
    for (int i = 0; i < avr->interrupts.vector_count; i++)
        if (avr->interrupts.vector[i]->vector == number)
            return avr->interrupts.vector[i];
    return NULL;
}

/* simavr's own complaints; the first one is kept. */
static void keep_trouble(avr_t *avr, const int level, const char *format, va_list arguments) {
    uno_t *u = avr ? avr->custom.data : NULL;
    if (u && level == LOG_ERROR && !u->trouble[0])
        vsnprintf(u->trouble, sizeof u->trouble, format, arguments);
}

static void crash(uno_t *u, const char *why) {
    u->crashed = 1;
    if (!u->trouble[0])
        snprintf(u->trouble, sizeof u->trouble, "%s", why);
}

/* --- registers that simavr handles in a way of its own -------------------------------------------------------- */

/* A one clears its own flag of a timer, not all of them. */
static void write_tifr(avr_t *avr, avr_io_addr_t address, uint8_t value, void *param) {
    (void)param;
    for (int i = 0; i < avr->interrupts.vector_count; i++) {
        avr_int_vector_t *vector = avr->interrupts.vector[i];
        if (vector->raised.reg == address && value >> vector->raised.bit & 1) {
            vector->pending = 0;
            avr->data[address] &= ~(1 << vector->raised.bit);
        }
    }
}

static void write_gpior0(avr_t *avr, avr_io_addr_t address, uint8_t value, void *param) {
    uno_t *u = param;
    avr->data[address] = value;
    if (u->marker_count == MARKERS) {
        u->counts.markers_lost++;
        return;
    }
    size_t at = (u->marker_first + u->marker_count++) % MARKERS;
    u->marker[at] = value;
    u->marker_at[at] = avr->cycle;
}

/* --- life ----------------------------------------------------------------------------------------------------- */

/* What RAM holds after power-on is anything: a pattern that differs from byte to byte. */
static uint8_t garbage(uint16_t address) {
    return (uint8_t)(address * 167u >> 3) ^ 0xA5;
}

static void fill_ram(uno_t *u) {
    for (int address = RAM_FIRST; address <= u->avr->ramend; address++)
        u->avr->data[address] = garbage(address);
}

static int load(uno_t *u, const char *path, char *error, size_t size) {
    elf_firmware_t elf;
    memset(&elf, 0, sizeof elf);
    FILE *file = fopen(path, "rb");
    char magic[4] = "";
    size_t got = file ? fread(magic, 1, sizeof magic, file) : 0;
    if (file)
        fclose(file);
    if (got != sizeof magic || memcmp(magic, "\177ELF", sizeof magic) || elf_read_firmware(path, &elf) || !elf.flashsize) {
        snprintf(error, size, "%s: no ELF file with a program in it", path);
        return -1;
    }
    if (elf.flashbase + elf.flashsize > u->avr->flashend + 1) {
        snprintf(error, size, "%s: %u bytes do not fit the flash", path, (unsigned)elf.flashsize);
        return -1;
    }
    avr_load_firmware(u->avr, &elf);
    u->counts.static_ram = elf.datasize + elf.bsssize;
    u->symbol = elf.symbol;
    u->symbols = elf.symbolcount;
    free(elf.flash);
    return 0;
}

uno_t *uno_new(const char *path, char *error, size_t size) {
    avr_global_logger_set(keep_trouble);
    uno_t *u = calloc(1, sizeof *u);
    u->avr = avr_make_mcu_by_name("atmega328p");
    if (!u->avr) {
        snprintf(error, size, "libsimavr does not know the ATmega328P");
        free(u);
        return NULL;
    }
    u->avr->custom.data = u;
    avr_init(u->avr);
    u->avr->frequency = CLOCK_HZ;
    u->marker = malloc(MARKERS);
    u->marker_at = malloc(MARKERS * sizeof *u->marker_at);
    if (load(u, path, error, size)) {
        uno_free(u);
        return NULL;
    }
    u->avr->frequency = CLOCK_HZ;
    u->avr->vcc = u->avr->avcc = u->avr->aref = SUPPLY_MV;
    u->run = u->avr->run;
    u->chip.oscillator_hz = 25e6;
    u->chip.powered = u->chip.connected = 1;
    pca9685_power_on(&u->chip);
    usart_attach(u);
    twi_attach(u);
    pins_attach(u);
    for (uint16_t address = R_TIFR0; address <= R_TIFR2; address++)
        on_write(u, address, write_tifr);
    on_write(u, R_GPIOR0, write_gpior0);
    uno_reset(u, UNO_POWER_ON, 0, 0);
    u->counts.resets = 0;
    return u;
}

void uno_free(uno_t *u) {
    avr_terminate(u->avr);
    free(u->avr);
    usart_free(u);
    for (size_t i = 0; i < u->symbols; i++)
        free(u->symbol[i]);
    free(u->symbol);
    free(u->marker);
    free(u->marker_at);
    free(u);
}

static avr_watchdog_t *watchdog(avr_t *avr) {
    for (avr_io_t *port = avr->io_port; port; port = port->next)
        if (!strcmp(port->kind, "watchdog"))
            return (avr_watchdog_t *)port;
    return NULL;
}

void uno_reset(uno_t *u, int cause, uint64_t silence, int hide_cause) {
    static const uint8_t flag[] = {PORF, EXTRF, BORF, WDRF};
    avr_t *avr = u->avr;
    uint8_t causes = cause == UNO_POWER_ON ? PORF : avr->data[R_MCUSR] | flag[cause];
    if (cause == UNO_WATCHDOG) { /* simavr leaves it running at its shortest time, as a real one does */
        avr_watchdog_t *dog = watchdog(avr);
        dog->reset_context.wdrf = 1;
        dog->reset_context.avr_run = u->run;
    }
    pins_reset(u);
    avr->run = u->run;
    avr_reset(avr);
    if (cause == UNO_POWER_ON || cause == UNO_BROWN_OUT)
        fill_ram(u);
    avr->data[R_MCUSR] = hide_cause ? 0 : causes;
    avr_extint_set_strict_lvl_trig(avr, 0, 0);
    avr_extint_set_strict_lvl_trig(avr, 1, 0);
    usart_reset(u);
    twi_reset(u);
    u->quiet_until = avr->cycle + silence;
    u->hidden_cause = hide_cause;
    u->crashed = u->interrupts_seen_on = u->blocked = 0;
    u->trouble[0] = 0;
    u->counts.resets++;
}

uint64_t uno_started(const uno_t *u) {
    return u->quiet_until;
}

uint64_t uno_cycle(const uno_t *u) {
    return u->avr->cycle;
}

const char *uno_trouble(const uno_t *u) {
    return u->trouble;
}

/* --- running -------------------------------------------------------------------------------------------------- */

static void watch_interrupts(uno_t *u, uint64_t before, uint32_t pc) {
    if (u->avr->sreg[S_I]) {
        if (u->blocked && u->interrupts_seen_on) {
            uint64_t span = u->avr->cycle - u->blocked_since;
            if (span > u->counts.longest_blocked) {
                u->counts.longest_blocked = span;
                u->counts.blocked_pc = u->blocked_at;
            }
        }
        u->blocked = 0;
        u->interrupts_seen_on = 1;
    } else if (!u->blocked) {
        u->blocked = 1;
        u->blocked_since = before;
        u->blocked_at = pc;
    }
}

/* Whatever is due; cycles until the next event. */
static uint64_t run_timers(avr_t *avr) {
    const avr_cycle_timer_slot_t *first = avr->cycle_timers.timer;
    return first && first->when > avr->cycle ? first->when - avr->cycle : avr_cycle_timer_process(avr);
}

/* Time passes without instructions, up to `until` or the next event. */
static uint64_t pass_time(uno_t *u, uint64_t next, uint64_t until) {
    avr_t *avr = u->avr;
    uint64_t left = until > avr->cycle ? until - avr->cycle : 0;
    uint64_t passed = next < left ? next : left;
    avr->cycle += passed;
    return passed;
}

static void doze(uno_t *u, uint64_t next, uint64_t until) {
    avr_t *avr = u->avr;
    uint8_t mode = avr->data[R_SMCR];
    if (!(mode & SE)) { /* SLEEP does nothing then */
        avr->state = cpu_Running;
        return;
    }
    if (mode & SLEEP_MODE)
        u->counts.bad_sleeps++;
    if (!avr->sreg[S_I])
        crash(u, "asleep with interrupts off: only a reset wakes it");
    else
        u->counts.asleep += pass_time(u, next, until);
}

/* One instruction, or sleep until the next event; then an interrupt if one is due. */
static void step(uno_t *u, uint64_t until) {
    avr_t *avr = u->avr;
    uint64_t before = avr->cycle;
    avr_flashaddr_t pc = avr->pc, next_pc = pc;
    int slept = avr->state == cpu_Sleeping;
    if (avr->state == cpu_Running)
        next_pc = avr_run_one(avr);
    uint64_t next = run_timers(avr);
    avr->pc = next_pc;
    if (avr->run != u->run) {
        u->counts.watchdog_resets++;
        uno_reset(u, UNO_WATCHDOG, 0, u->hidden_cause);
        return;
    }
    if (avr->state == cpu_Sleeping) {
        doze(u, next, until);
    } else if (avr->state != cpu_Running) {
        crash(u, "crashed");
        return;
    }
    if (avr->interrupt_state) {
        int handlers = avr->interrupts.running_ptr;
        before = avr->cycle;
        pc = avr->pc;
        avr_service_interrupts(avr);
        if (avr->interrupts.running_ptr > handlers) {
            u->counts.interrupts++;
            avr->cycle += ENTRY_CYCLES + (slept ? WAKE_CYCLES : 0);
            pc = avr->pc;
            run_timers(avr);
        }
    }
    watch_interrupts(u, before, pc);
}

int uno_run(uno_t *u, uint64_t until) {
    avr_t *avr = u->avr;
    while (avr->cycle < until) {
        if (u->crashed || avr->cycle < u->quiet_until) {
            uint64_t end = !u->crashed && u->quiet_until < until ? u->quiet_until : until;
            pass_time(u, run_timers(avr), end);
            continue;
        }
        uint64_t before = avr->cycle;
        step(u, until);
        u->counts.cycles += avr->cycle - before;
    }
    return u->crashed;
}

/* --- looking inside ------------------------------------------------------------------------------------------- */

size_t uno_markers(uno_t *u, uint8_t *values, uint64_t *cycles, size_t room) {
    size_t count = u->marker_count < room ? u->marker_count : room;
    for (size_t i = 0; i < count; i++, u->marker_first = (u->marker_first + 1) % MARKERS) {
        values[i] = u->marker[u->marker_first];
        cycles[i] = u->marker_at[u->marker_first];
    }
    u->marker_count -= count;
    return count;
}

/* Stack ever used: from the top down to the first stretch that still holds what power-on left there. */
static uint32_t stack_used(const uno_t *u) {
    int untouched = 0, address = u->avr->ramend;
    for (; address >= RAM_FIRST && untouched < UNTOUCHED; address--)
        untouched = u->avr->data[address] == garbage(address) ? untouched + 1 : 0;
    return u->avr->ramend - address - untouched;
}

void uno_statistics(uno_t *u, uno_statistics_t *out) {
    *out = u->counts;
    out->stack = stack_used(u);
}

void uno_clear_statistics(uno_t *u) {
    uint32_t static_ram = u->counts.static_ram;
    memset(&u->counts, 0, sizeof u->counts);
    u->counts.static_ram = static_ram;
}

int32_t uno_symbol(const uno_t *u, const char *name) {
    for (size_t i = 0; i < u->symbols; i++)
        if (!strcmp(u->symbol[i]->symbol, name))
            return u->symbol[i]->addr & 0xFFFF;
    return -1;
}

uint8_t uno_peek(const uno_t *u, uint16_t address) {
    return address <= u->avr->ramend ? u->avr->data[address] : 0;
}

void uno_poke(uno_t *u, uint16_t address, uint8_t value) {
    if (address <= u->avr->ramend)
        u->avr->data[address] = value;
}

static uint8_t *eeprom(const uno_t *u) {
    avr_eeprom_desc_t whole = {.ee = NULL, .offset = 0, .size = u->avr->e2end + 1};
    avr_ioctl(u->avr, AVR_IOCTL_EEPROM_GET, &whole);
    return whole.ee;
}

uint8_t uno_eeprom(const uno_t *u, uint16_t address) {
    return address <= u->avr->e2end ? eeprom(u)[address] : 0xFF;
}
