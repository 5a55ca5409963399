/* Pulses on the digital pins, and voltages on the analogue ones. */
#include "avr_adc.h"
#include "avr_ioport.h"
#include "kernel.h"

static void pin_changed(avr_irq_t *irq, uint32_t value, void *param) {
    pin_t *pin = param;
    avr_t *avr = pin->avr;
    int high = value & 1;
    (void)irq;
    if (high == pin->high)
        return;
    pin->high = high;
    if (high) {
        pin->rose = avr->cycle;
    } else {
        pin->last_rose = pin->rose;
        pin->width = avr->cycle - pin->rose;
        pin->count++;
    }
}

void pins_attach(uno_t *u) {
    for (int number = 0; number < PINS; number++) {
        char port = number < 8 ? 'D' : 'B';
        u->pin[number].avr = u->avr;
        avr_irq_t *irq = avr_io_getirq(u->avr, AVR_IOCTL_IOPORT_GETIRQ(port), number < 8 ? number : number - 8);
        avr_irq_register_notify(irq, pin_changed, &u->pin[number]);
    }
}

/* A reset makes every pin an input: a pulse under way ends there. */
void pins_reset(uno_t *u) {
    for (int number = 0; number < PINS; number++)
        pin_changed(NULL, 0, &u->pin[number]);
}

uint32_t uno_pin_pulse(const uno_t *u, int number, uint64_t *rose, uint64_t *width) {
    const pin_t *pin = &u->pin[number];
    *rose = pin->last_rose;
    *width = pin->width;
    return pin->count;
}

void uno_adc(uno_t *u, int channel, uint32_t millivolt) {
    avr_raise_irq(avr_io_getirq(u->avr, AVR_IOCTL_ADC_GETIRQ, channel), millivolt);
}
