// One row a joint: where it is, a slider to where it shall go (ghost first, sent on release), and what it has to give.
import { hue } from "./curves.js";
import { byId, make, write } from "./page.js";
import { fromPerson, load, position, symbol, toPerson } from "./units.js";

/** @typedef {import("./arm.js").Moving} Moving */
/** @typedef {{ row: HTMLElement, value: HTMLElement, warm: HTMLElement, slider: HTMLInputElement, bar: HTMLElement, fill: HTMLElement, figure: HTMLElement }} Row */

const STEPS = 400;
const NOTE = "Bars end at stall; the first line is the hold limit, the second the motion limit. Arrow keys choose, Enter sends.";

export class Joints {
  /** @type {Row[]} */
  #rows = [];
  #edited = -1;

  /**
   * @param {Moving[]} moving
   * @param {(to: Record<string, number> | null) => void} look ahead at a pose; null: not any more
   * @param {(to: Record<string, number>) => void} send
   */
  constructor(moving, look, send) {
    this.moving = moving;
    const box = byId("joints", HTMLElement);
    box.replaceChildren();
    moving.forEach((joint, k) => {
      const [low, high] = [joint.lower ?? -Math.PI, joint.upper ?? Math.PI].map((x) => toPerson(x, joint.unit));
      const slider = make("input", {
        type: "range", min: String(low), max: String(high), step: String((high - low) / STEPS), "aria-label": `${joint.name}, target in ${symbol(joint.unit)}`,
      });
      const [value, warm, fill, figure] = [make("span", { class: "value" }), make("span", { class: "warm" }), make("i"), make("span")];
      const marks = [make("u", { class: "hold" }), make("u", { class: "peak" })];
      const limits = `hold ${joint.hold.toFixed(2)}, peak ${joint.peak.toFixed(2)}, stall ${joint.stall.toFixed(2)} ${joint.effort_unit}`;
      const bar = make("div", { class: "bar", role: "meter", title: limits, "aria-label": `${joint.name}, torque; ${limits}`, "aria-valuemin": "0", "aria-valuemax": "100" }, fill, ...marks);
      const { hold, peak } = load(0, joint);
      marks[0].style.left = `${100 * hold}%`;
      marks[1].style.left = `${100 * peak}%`;
      const key = make("i", { class: "key", "aria-hidden": "true" });
      key.style.background = hue(k);
      const row = make("div", { class: "joint", role: "group", "aria-label": joint.name }, make("b", {}, key, joint.name), value, warm, slider, make("div", { class: "load" }, bar, figure));
      box.append(row);
      this.#rows.push({ row, value, warm, slider, bar, fill, figure });
      const wanted = () => ({ [joint.name]: fromPerson(Number(slider.value), joint.unit) });
      let held = false;
      slider.addEventListener("pointerdown", () => (held = true));
      slider.addEventListener("input", () => {
        this.#edited = k;
        slider.setAttribute("aria-valuetext", position(wanted()[joint.name], joint.unit));
        look(wanted());
      });
      const commit = () => {
        if (this.#edited !== k) return;
        this.#edited = -1;
        held = false;
        send(wanted());
      };
      slider.addEventListener("change", () => held && commit());
      slider.addEventListener("keydown", (event) => event.key === "Enter" && commit());
      slider.addEventListener("blur", () => {
        if (this.#edited === k) {
          this.#edited = -1;
          look(null);
        }
      });
    });
    write(byId("bars-note", HTMLElement), NOTE);
  }

  /** @param {import("./figures.js").Pose} pose */
  take({ q, torque, torque_of }) {
    write(byId("torque-of", HTMLElement), torque_of === "command" ? "torque of the command" : "torque to stand here");
    this.moving.forEach((joint, k) => {
      const row = this.#rows[k];
      if (q.state) write(row.value, position(q.state[k], joint.unit));
      const follow = q.reference ?? q.state;
      if (follow && this.#edited !== k) row.slider.value = String(toPerson(follow[k], joint.unit));
      if (!torque) return;
      const { share, level } = load(torque[k], joint);
      row.fill.style.transform = `scaleX(${Math.min(share, 1).toFixed(3)})`;
      row.bar.className = `bar ${level}`;
      const text = `${Math.abs(torque[k]).toFixed(2)} ${joint.effort_unit}, ${(100 * share).toFixed(0)} %${level === "over" ? " over" : ""}`;
      row.bar.setAttribute("aria-valuenow", (100 * share).toFixed(0));
      row.bar.setAttribute("aria-valuetext", text);
      write(row.figure, text);
    });
  }

  /** @param {any} status */
  warm({ parts }) {
    const told = parts?.["hardware: temperature"] ?? {};
    const limit = Number(told.limit_celsius);
    if (told.provenance) write(byId("bars-note", HTMLElement), `${NOTE} Temperatures are ${told.provenance}, at most ${limit} °C.`);
    this.#rows.forEach(({ warm }, k) => {
      const value = Number(told[`celsius.${this.moving[k].name}`] || NaN);
      write(warm, Number.isFinite(value) ? `${value.toFixed(0)} °C` : "");
      warm.classList.toggle("hot", value > 0.85 * limit);
    });
  }

  /** Mark the joint that a refusal is about. @param {string} name */
  mark(name) {
    this.moving.forEach((joint, k) => this.#rows[k].row.classList.toggle("refused", joint.name === name));
  }
}
