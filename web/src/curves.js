// Curves of the last minute: how far off the tip is, what the joints give, and set-point against joint.
import uPlot from "uplot";
import { byId, colour, make, write } from "./page.js";
import { apart, fixed, named, symbol, toPerson } from "./units.js";

const SPAN_S = 60;
const EVERY_S = 0.1;
const DRAWN_MS = 250;
const HUES = ["#3b76c9", "#c96a00", "#0f8f86", "#ab48c0", "#9a8300", "#94704a", "#d6457a"];

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
    const values = names.map(() => make("output"));
    byId("curves-key", HTMLElement).replaceChildren(
      ...names.map((name, k) => {
        const key = make("i", { class: "key", "aria-hidden": "true" });
        key.style.background = hue(k);
        return make("span", {}, key, name, " ", values[k]);
      }),
    );
    box.replaceChildren();
    /** @type {[string, string[], number][]} label, curves, and the least that the axis spans */
    const kinds = [["tip off by, mm", ["tip"], 2], [`torque, ${effort}`, names, 0.2 * Math.max(...moving.map((joint) => joint.stall))], [`joint off, ${unit}`, names, 1]];
    this.#data = kinds.map(([, series]) => [[], ...series.map(() => [])]);
    kinds.forEach(([label, series, least], k) => {
      const frame = make("div", { class: "curve", role: "img", "aria-label": `${label}, of the last minute` });
      box.append(frame);
      const under = (/** @type {uPlot} */ plot) => this.#under(plot, label, values, series.length > 1);
      this.#plots.push(new uPlot(options(label, series, least, k === kinds.length - 1, under), /** @type {any} */ (this.#data[k]), frame));
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
      plot.setScale("x", { min: Math.max(now - SPAN_S, Math.min(now - SPAN_S / 6, 0)), max: now });
    });
  }

  /**
   * Say the values under the pointer.
   * @param {uPlot} plot
   * @param {string} label
   * @param {HTMLElement[]} values of the joints
   * @param {boolean} joints whether the curves are theirs
   */
  #under({ cursor, data, scales }, label, values, joints) {
    if (!cursor.event) return; // it is the pointer's in another plot
    const at = cursor.idx ?? -1;
    const of = (/** @type {number} */ k) => typeof data[k]?.[at] === "number" ? fixed(/** @type {number} */ (data[k][at]), 2) : "";
    values.forEach((value, k) => write(value, joints ? of(k + 1) : ""));
    const time = at < 0 ? "" : `${((data[0][at] ?? 0) - (scales.x.max ?? 0)).toFixed(1)} s: `;
    write(byId("curves-at", HTMLElement), time && `${time}${label}${joints ? "" : ` ${of(1)}`}`);
  }

  theme() {
    this.#plots.forEach((plot) => plot.redraw());
  }
}

/** @param {Element | null} frame */
const size = (frame) => ({ width: Math.max(frame?.clientWidth ?? 0, 200), height: frame?.clientHeight || 96 });

/** Times that the axis names, from now back. @param {uPlot} _plot @param {number} _axis @param {number} min @param {number} max */
function times(_plot, _axis, min, max) {
  const step = max - min > 30 ? 10 : 2;
  return Array.from({ length: Math.floor((max - min) / step + 1e-6) + 1 }, (_, k) => max - step * k).reverse();
}

/**
 * @param {string} label
 * @param {string[]} series
 * @param {number} least that the axis spans
 * @param {boolean} last with the times
 * @param {(plot: uPlot) => void} under  called where the pointer moves
 * @returns {uPlot.Options}
 */
function options(label, series, least, last, under) {
  const axis = { stroke: () => colour("--soft"), grid: { stroke: () => colour("--line"), width: 1 }, font: "11px system-ui", ticks: { show: false } };
  const said = (/** @type {uPlot} */ _plot, /** @type {number[]} */ at) => at.map((time) => (last ? (time === at.at(-1) ? "now" : `${(time - at[at.length - 1]).toFixed(0)} s`) : ""));
  return {
    ...size(null),
    cursor: { y: false, points: { size: 5 }, drag: { x: false, y: false, setScale: false }, sync: { key: "curves", setSeries: false } },
    hooks: { setCursor: [under] },
    legend: { show: false },
    scales: { x: { time: false }, y: { range: (_plot, low, high) => [Math.min(low ?? 0, 0) * 1.08, Math.max(high ?? 0, Math.min(low ?? 0, 0) + least) * 1.08] } },
    axes: [{ ...axis, size: last ? 20 : 4, splits: times, values: said }, { ...axis, size: 44, label, labelSize: 16, labelFont: "11px system-ui", labelGap: 0, space: 18 }],
    series: [{}, ...series.map((name, k) => ({ label: name, stroke: HUES[k % HUES.length], width: 1.6, points: { show: false }, dash: k > 3 ? [5, 3] : undefined }))],
  };
}

/** Colours of the joints' curves, for a key. @param {number} k */
export const hue = (k) => HUES[k % HUES.length];
