// One row a joint: where it is, a slider to where it shall go (ghost first, sent on release), and what it has to give.
import { hue } from "./curves.js";
import { byId, make, write } from "./page.js";
import { fixed, fromPerson, load, marks, number, position, symbol, toPerson } from "./units.js";

/** @typedef {import("./arm.js").Moving} Moving */
/** @typedef {{ row: HTMLElement, value: HTMLElement, warm: HTMLElement, slider: HTMLInputElement, field: HTMLInputElement, bar: HTMLElement, fill: HTMLElement, figure: HTMLElement }} Row */

const STEPS = 400;
const NOTE = "Arrow keys on a slider, or a number, show the motion; Enter sends it. Torque: limits at rest (hold) and in motion, bars end at stall.";

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
      const to = `${joint.name}, target in ${symbol(joint.unit)}`;
      const slider = make("input", { type: "range", min: String(low), max: String(high), step: String((high - low) / STEPS), "aria-label": to });
      const field = make("input", { inputmode: "decimal", autocomplete: "off", "aria-label": `${to}, as a number` });
      const [value, warm, fill, figure] = [make("span", { class: "value" }), make("span", { class: "warm" }), make("i"), make("span", { class: "torque" })];
      const limits = `hold ${joint.hold.toFixed(2)}, motion ${joint.peak.toFixed(2)}, stall ${joint.stall.toFixed(2)} ${joint.effort_unit}`;
      const bar = make("div", { class: "bar", role: "meter", "aria-label": `${joint.name}, torque; ${limits}`, "aria-valuemin": "0", "aria-valuemax": "100" }, fill);
      const names = make("div", { class: "marks", "aria-hidden": "true" });
      for (const { at, text, lines } of marks(joint)) {
        for (const line of lines) bar.append(at_(make("u"), line));
        names.append(at_(make("span", {}, text), at));
      }
      const key = make("i", { class: "key", "aria-hidden": "true" });
      key.style.background = hue(k);
      const range = make("div", { class: "range" }, make("small", {}, fixed(low, 0)), slider, make("small", {}, fixed(high, 0)), field, symbol(joint.unit));
      const row = make("div", { class: "joint", role: "group", "aria-label": joint.name }, make("b", {}, key, joint.name), figure, warm, value, range, bar, names);
      box.append(row);
      this.#rows.push({ row, value, warm, slider, field, bar, fill, figure });
      let held = false;
      let asked = NaN;
      const wanted = () => ({ [joint.name]: fromPerson(asked, joint.unit) });
      const edit = (/** @type {number} */ target) => {
        this.#edited = k;
        asked = target;
        field.setAttribute("aria-invalid", String(Number.isNaN(asked)));
        if (Number.isNaN(asked)) return look(null);
        slider.setAttribute("aria-valuetext", position(wanted()[joint.name], joint.unit));
        look(wanted());
      };
      slider.addEventListener("pointerdown", () => (held = true));
      slider.addEventListener("input", () => {
        field.value = fixed(Number(slider.value), 1);
        edit(Number(slider.value));
      });
      field.addEventListener("input", () => {
        edit(number(field.value));
        if (!Number.isNaN(asked)) slider.value = String(asked);
      });
      const commit = () => {
        if (this.#edited !== k || Number.isNaN(asked)) return;
        this.#edited = -1;
        held = false;
        send(wanted());
      };
      slider.addEventListener("change", () => held && commit());
      for (const input of [slider, field]) {
        input.addEventListener("keydown", (event) => event.key === "Enter" && commit());
        input.addEventListener("blur", () => {
          if (this.#edited !== k) return;
          this.#edited = -1;
          look(null);
        });
      }
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
      if (follow && this.#edited !== k) {
        row.slider.value = String(toPerson(follow[k], joint.unit));
        row.field.value = fixed(toPerson(follow[k], joint.unit), 1);
      }
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

/** At that share of its parent's width. @template {HTMLElement} T @param {T} element @param {number} share @returns {T} */
function at_(element, share) {
  element.style.left = `${100 * share}%`;
  return element;
}
