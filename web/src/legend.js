// What is to be seen of the arm, with a tick for each; and the line that says where the tip is, and how that is known.
import { byId, make, write } from "./page.js";
import { apart, fixed, place } from "./units.js";

const OLD_S = 0.5;
const NARROW = "(max-width: 640px)";

/** @type {[string, string, boolean][]} */
const SHOWN = [["reference", "reference, where 3 mm off", true], ["truth", "true arm (simulation)", true], ["trail", "path of the tip", true], ["region", "tip cannot be held here", false]];

/** @param {(what: string, on: boolean) => void} want */
export function installLegend(want) {
  const rows = SHOWN.map(([what, text, on]) => {
    const tick = make("input", { type: "checkbox", ...(on ? { checked: "" } : {}) });
    tick.addEventListener("change", () => want(what, tick.checked));
    return make("label", { "data-what": what }, tick, make("span", { class: `swatch ${what}`, "aria-hidden": "true" }), text);
  });
  byId("legend", HTMLElement).replaceChildren(...rows);
  const narrow = matchMedia(NARROW);
  const fold = () => (byId("shown", HTMLDetailsElement).open = !narrow.matches);
  narrow.addEventListener("change", fold);
  fold();
}

export class Readout {
  #tip = byId("tip", HTMLElement);
  #source = byId("source", HTMLElement);
  #off = byId("off", HTMLElement);
  #age = byId("age", HTMLElement);
  provenance = "";

  /** @param {import("./figures.js").Pose} pose */
  take({ tip, age }) {
    const there = tip.state;
    write(this.#tip, there ? `tip ${place(there)}` : "tip: pose unknown");
    write(this.#source, there ? this.provenance : "");
    const errors = [];
    if (there && tip.reference) errors.push(`${fixed(apart(there, tip.reference), 1)} mm off the reference, ${place(tip.reference)}`);
    if (tip.truth && tip.reference) errors.push(`true arm ${fixed(apart(tip.truth, tip.reference), 1)} mm off`);
    write(this.#off, errors.join("; ") || "no reference: the arm is not driven");
    const oldest = age.state ?? Infinity;
    const old = !(oldest <= OLD_S);
    write(this.#age, old ? `old: ${Number.isFinite(oldest) ? `${fixed(oldest, 1)} s` : "no joint states"}` : `${fixed(oldest, 2)} s old`);
    this.#age.classList.toggle("old", old);
    byId("scene", HTMLElement).classList.toggle("stale", old);
  }

  /** Nothing comes any more. */
  lose() {
    write(this.#age, "old: no connection");
    this.#age.classList.add("old");
    byId("scene", HTMLElement).classList.add("stale");
  }
}
