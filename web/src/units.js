// Numbers for a person: degrees and millimetres, each with its unit; SI and radians come in.

export const DEG = 180 / Math.PI;

/** @typedef {"rad" | "m"} Unit */

/** @param {number} value @param {Unit} unit */
export const toPerson = (value, unit) => (unit === "m" ? 1e3 * value : DEG * value);

/** @param {number} value @param {Unit} unit */
export const fromPerson = (value, unit) => (unit === "m" ? 1e-3 * value : value / DEG);

/** @param {Unit} unit */
export const symbol = (unit) => (unit === "m" ? "mm" : "°");

/** Units of one curve, each once: an arm can turn and slide. @param {string[]} units */
export const named = (units) => [...new Set(units)].join(" or ");

/** A joint's position. @param {number} value @param {Unit} unit */
export function position(value, unit) {
  return unit === "m" ? `${fixed(1e3 * value, 1)} mm` : `${fixed(DEG * value, 1)}°`;
}

/** Without "-0.0". @param {number} value @param {number} digits */
export function fixed(value, digits) {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text;
}

/** A place of the tip, in mm. @param {number[]} tip */
export const place = (tip) => tip.map((x) => fixed(1e3 * x, 1)).join(", ") + " mm";

/** Distance of two places [mm]. @param {number[]} a @param {number[]} b */
export const apart = (a, b) => 1e3 * Math.hypot(...a.map((x, k) => x - b[k]));

/**
 * How much of what a joint may give it gives: shares of what stalls it, for a bar.
 * @param {number} torque
 * @param {{ hold: number, peak: number, stall: number }} limits
 * @returns {{ share: number, hold: number, peak: number, level: "calm" | "busy" | "over" }}
 */
export function load(torque, limits) {
  const size = Math.abs(torque);
  const level = size > limits.hold ? "over" : size > 0.8 * limits.hold ? "busy" : "calm";
  return { share: size / limits.stall, hold: limits.hold / limits.stall, peak: limits.peak / limits.stall, level };
}

const NEAR = 0.19;

/**
 * Limits of a torque as lines of its bar, each with its name; names that would run into each other become one.
 * @param {{ hold: number, peak: number, stall: number }} limits
 */
export function marks({ hold, peak, stall }) {
  /** @type {{ at: number, text: string, lines: number[] }[]} */
  const found = [];
  for (const [name, limit] of /** @type {[string, number][]} */ ([["hold", hold], ["motion", peak], ["stall", stall]])) {
    const [last, one] = [found.at(-1), { at: limit / stall, text: `${name} ${limit.toFixed(2)}`, lines: limit < stall ? [limit / stall] : [] }];
    if (last && one.at - last.at < NEAR) Object.assign(last, { at: one.at, text: `${last.text}, ${one.text}`, lines: [...last.lines, ...one.lines] });
    else found.push(one);
  }
  return found;
}

/** A number as a person types it; NaN: it is none. @param {string} text */
export const number = (text) => (text.trim() ? Number(text.trim().replace(",", ".")) : NaN);

/**
 * Rate and latency of the commands, as the hardware node measured them; nothing of what it did not.
 * @param {{ period_ms?: string, jitter_p99_ms?: string, ahead_ms?: string }} timing
 */
export function loop({ period_ms, jitter_p99_ms, ahead_ms }) {
  if (!Number(period_ms)) return [];
  const rate = `loop ${(1e3 / Number(period_ms)).toFixed(1)} Hz ± ${Number(jitter_p99_ms ?? 0).toFixed(1)} ms`;
  return [rate, `commands ${Number(ahead_ms ?? 0).toFixed(0)} ms ahead`];
}
