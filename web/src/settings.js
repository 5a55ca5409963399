// What the arm carries, how it makes up for its servos, how fast goals are executed.
import { byId, make } from "./page.js";

const MODES = ["none", "gravity", "full"];

export class Settings {
  /** @param {(what: object) => void} ask */
  constructor(ask) {
    this.payload = make("input", { inputmode: "decimal", size: "5", autocomplete: "off" });
    this.mode = make("select", {}, ...MODES.map((mode) => make("option", {}, mode)));
    this.speed = make("input", { inputmode: "numeric", size: "4", autocomplete: "off" });
    byId("settings", HTMLElement).replaceChildren(
      make("label", {}, "payload g ", this.payload),
      make("label", {}, "compensation ", this.mode),
      make("label", {}, "speed % ", this.speed),
    );
    const sending = (/** @type {HTMLInputElement} */ field, /** @type {(value: number) => object} */ what) =>
      field.addEventListener("change", () => {
        const value = Number(field.value.replace(",", "."));
        if (field.value.trim() && Number.isFinite(value)) ask(what(value));
        field.blur();
      });
    sending(this.payload, (value) => ({ do: "payload", kg: value / 1e3 }));
    sending(this.speed, (value) => ({ do: "speed", share: value / 100 }));
    this.mode.addEventListener("change", () => ask({ do: "compensation", mode: this.mode.value }));
  }

  /** @param {any} status */
  take({ payload_kg, compensation, limits }) {
    show(this.payload, typeof payload_kg === "number" ? String(Math.round(1e4 * payload_kg) / 10) : "");
    show(this.mode, compensation ?? "");
    if (limits?.speed_scaling !== undefined) show(this.speed, String(Math.round(100 * limits.speed_scaling)));
  }
}

/** Unless somebody writes into it. @param {HTMLInputElement | HTMLSelectElement} field @param {string} value */
function show(field, value) {
  if (document.activeElement !== field && field.value !== value) field.value = value;
}
