/* The firmware's core as a shared library with a C interface: any number of boards, each with its own configuration.
 *
 * Times are board time [us] modulo 2^32; pulses in 1/8 us.  Whoever calls advance before receive, for the same time, sees
 * exactly what VirtualFirmware in Python does.
 */
#ifndef PICKER_CORE_H
#define PICKER_CORE_H

#include <stddef.h>
#include <stdint.h>

#define PICKER_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct picker_board picker_board;

typedef struct {
    uint8_t joints, queue_capacity; /* up to 8; up to 24 */
    uint16_t boot_id;
    uint16_t limits[8][4]; /* lowest, highest, speed, brake */
    uint16_t limits_crc;
    uint16_t resolution_ns, frame_us, host_timeout_ms, max_lead_ms, supply_min_mv;
    uint32_t start_time_us;
    uint16_t found[8];      /* pulses on the outputs at boot, 0 where off */
    uint8_t gravity;        /* 1: brake with the gravity model of arm_config.h */
    uint8_t small_transmit; /* 1: bytes wait in the board's own buffer until fetched, as on the wire */
} picker_settings;

typedef struct {
    uint16_t pulses[8];
    uint16_t faults;
    uint8_t state, live, owned, limited;
} picker_view;

PICKER_API picker_board *picker_create(const picker_settings *settings);
PICKER_API void picker_destroy(picker_board *board);

PICKER_API void picker_advance(picker_board *board, uint32_t now_us);
/* How many of the bytes were taken; with small_transmit fewer than all, where an answer might find no room. */
PICKER_API size_t picker_receive(picker_board *board, const uint8_t *data, size_t count, uint32_t now_us);
PICKER_API size_t picker_transmit(picker_board *board, uint8_t *data, size_t room);

PICKER_API void picker_look(const picker_board *board, picker_view *view);
PICKER_API void picker_set_cause(picker_board *board, uint8_t fault, int present);
PICKER_API void picker_latch(picker_board *board, uint8_t fault);
PICKER_API void picker_set_supply(picker_board *board, uint16_t supply_mv);
PICKER_API void picker_set_feedback(picker_board *board, uint8_t joint, uint16_t value);
PICKER_API void picker_outputs_found(picker_board *board, const uint16_t *pulses);

/* --- single functions ------------------------------------------------------------------------------------------- */

PICKER_API uint16_t picker_crc16(const uint8_t *data, size_t count);
PICKER_API uint16_t picker_interpolate(uint32_t start_us, uint16_t start, uint32_t end_us, uint16_t end, uint32_t at_us);

/* One frame on the wire, delimiter included; its length. */
PICKER_API size_t picker_encode(uint8_t version, uint8_t type, uint16_t sequence, const uint8_t *payload, size_t count,
                                uint8_t *wire);
/* Feeds all bytes to a new reader; the frames that had a right checksum.  The last one's header and kept payload (20 bytes
 * at most) go to `body`, the length of its whole payload to `length`, the count of damaged frames to `bad`. */
PICKER_API size_t picker_decode(const uint8_t *wire, size_t count, uint8_t *body, uint8_t *length, uint16_t *bad);

/* With the gravity model of arm_config.h; 0 where that has none.  Five joints in the picker's. */
PICKER_API uint8_t picker_gravity_joints(void);
PICKER_API void picker_gravity_torque(const float *q, float *torque);
PICKER_API void picker_gravity_difference(const uint16_t *from, const uint16_t *to, int16_t *change);

#ifdef __cplusplus
}
#endif
#endif
