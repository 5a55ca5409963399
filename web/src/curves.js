// Curves of the last minute: how far off the tip is, what the joints give, and set-point against joint.
import uPlot from "uplot";
import { byId, colour, make } from "./page.js";
import { apart, named, symbol, toPerson } from "./units.js";

const SPAN_S = 60;
const EVERY_S = 0.1;
const DRAWN_MS = 250;
const HUES = ["#3b76c9", "#c96a00", "#0f8f86", "#a23bb8", "#b59a00", "#7a5a3a", "#d6457a"];

export class Curves {
  /** @type {(number | null)[][][]} */
  #data;
  /** @type {uPlot[]} */
  #plots = [];
  #drawn = 0;
  #begin = 0;

  /** @param {import("./arm.js").Moving[]} moving */
  constructor(moving) {
    this.moving = moving;
    const names = moving.map((joint) => joint.name);
    const [unit, effort] = [named(moving.map((joint) => symbol(joint.unit))), named(moving.map((joint) => joint.effort_unit))];
    const box = byId("curves", HTMLElement);
    box.replaceChildren();
    /** @type {[string, string[]][]} */
    const kinds = [["tip off by, mm", ["off"]], [`torque, ${effort}`, names], [`joint off, ${unit}`, names]];
    this.#data = kinds.map(([, series]) => [[], ...series.map(() => [])]);
    kinds.forEach(([label, series], k) => {
      const frame = make("div", { class: "curve", role: "img", "aria-label": `${label}, of the last minute` });
      box.append(frame);
      this.#plots.push(new uPlot(options(frame, label, series), /** @type {any} */ (this.#data[k]), frame));
    });
    new ResizeObserver(() => this.#plots.forEach((plot) => plot.setSize(size(plot.root.parentElement)))).observe(box);
  }

  /** @param {import("./figures.js").Pose} pose */
  take({ t, q, tip, torque }) {
    this.#begin ||= t;
    const times = this.#data[0][0];
    const last = times.at(-1) ?? -Infinity;
    const now = t - this.#begin;
    if (now < /** @type {number} */ (last)) this.#data.forEach((rows) => rows.forEach((row) => row.splice(0)));
    if (now - /** @type {number} */ (last) < EVERY_S) return;
    const there = tip.truth ?? tip.state;
    const off = there && tip.reference ? apart(there, tip.reference) : null;
    const rest = this.moving.map((joint, k) => (q.state && q.reference ? toPerson(q.state[k] - q.reference[k], joint.unit) : null));
    [[now, off], [now, ...(torque ?? this.moving.map(() => null))], [now, ...rest]].forEach((row, k) => {
      const rows = this.#data[k];
      row.forEach((value, column) => rows[column].push(value));
      const old = rows[0].findIndex((time) => /** @type {number} */ (time) >= now - SPAN_S);
      if (old > 0) rows.forEach((one) => one.splice(0, old));
    });
    if (performance.now() - this.#drawn < DRAWN_MS || document.hidden) return;
    this.#drawn = performance.now();
    this.#plots.forEach((plot, k) => {
      plot.setData(/** @type {any} */ (this.#data[k]), false);
      plot.setScale("x", { min: Math.max(now - SPAN_S, 0), max: Math.max(now, SPAN_S / 6) });
    });
  }

  theme() {
    this.#plots.forEach((plot) => plot.redraw());
  }
}

/** @param {Element | null} frame */
const size = (frame) => ({ width: Math.max(frame?.clientWidth ?? 0, 200), height: 106 });

/** @param {HTMLElement} frame @param {string} label @param {string[]} series @returns {uPlot.Options} */
function options(frame, label, series) {
  const axis = { stroke: () => colour("--soft"), grid: { stroke: () => colour("--line"), width: 1 }, font: "11px system-ui", ticks: { show: false } };
  return {
    ...size(frame),
    cursor: { show: false },
    legend: { show: false },
    scales: { x: { time: false }, y: { range: (_plot, low, high) => [Math.min(low ?? 0, 0), Math.max(high ?? 1, (low ?? 0) + 0.1, 0.1) * 1.08] } },
    axes: [{ ...axis, size: 18, values: () => [] }, { ...axis, size: 44, label, labelSize: 16, labelFont: "11px system-ui", labelGap: 0 }],
    series: [{}, ...series.map((name, k) => ({ label: name, stroke: HUES[k % HUES.length], width: 1.6, points: { show: false }, dash: k > 3 ? [5, 3] : undefined }))],
  };
}

/** Colours of the joints' curves, for a key. @param {number} k */
export const hue = (k) => HUES[k % HUES.length];
