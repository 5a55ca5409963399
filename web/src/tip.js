// Where the tip shall go: by numbers or by dragging; the validator's answer is shown before anything is sent.
import { byId, write } from "./page.js";
import { fixed, number, DEG } from "./units.js";

/** @typedef {{ possible: boolean, q: number[] | null, duration_s?: number, slowed?: number, margins?: Record<string, number>, why?: string, subject?: string, way?: number[][],
 *   sent?: boolean }} Check  sent: it was asked for, and is refused */

export class TipPanel {
  #fields = ["x", "y", "z"].map((id) => byId(id, HTMLInputElement));
  #pitch = byId("pitch", HTMLInputElement);
  #straight = byId("straight", HTMLInputElement);
  #mass = byId("mass", HTMLInputElement);
  #edited = false;

  /**
   * @param {(what: object) => void} look ahead
   * @param {(what: object) => Promise<boolean>} send
   * @param {() => void} leave
   */
  constructor(look, send, leave) {
    this.gizmo = byId("gizmo", HTMLInputElement);
    /** @type {import("./scenery.js").Target | null} */
    this.target = null;
    const form = byId("tip-form", HTMLFormElement);
    form.addEventListener("input", (event) => {
      if (event.target === this.#mass) return;
      if (event.target === this.gizmo) {
        this.target?.show_(this.gizmo.checked);
        if (!this.gizmo.checked) return this.rest(leave);
      }
      this.#edited = true;
      const asked = this.asked();
      if (asked) {
        this.target?.put(asked.at);
        look(asked);
      }
    });
    const go = async (/** @type {object | null} */ asked) => {
      if (asked && (await send(asked))) this.#edited = false; // what was refused stays, to be amended
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      go(this.asked());
    });
    this.#mass.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault()); // it would move the tip
    for (const what of ["pick", "place"]) byId(what, HTMLButtonElement).addEventListener("click", () => go(this.#handling(what)));
    this.look = look;
  }

  /**
   * What the fields say; null where one is no number.
   * @returns {{ do: string, at: number[], straight: boolean, pitch?: number } | null}
   */
  asked() {
    const at = this.#fields.map((field) => number(field.value));
    const pitch = this.#pitch.value.trim() ? number(this.#pitch.value) : null;
    [...this.#fields, this.#pitch].forEach((field, k) => field.setAttribute("aria-invalid", String(Number.isNaN([...at, pitch ?? 0][k]))));
    if (at.some(Number.isNaN) || Number.isNaN(pitch)) return null;
    return { do: "tip", at: at.map((x) => x / 1e3), straight: this.#straight.checked, ...(pitch === null ? {} : { pitch: pitch / DEG }) };
  }

  /** A pick or place at what the fields say; null where one is no number. @param {string} what */
  #handling(what) {
    const mass = number(this.#mass.value);
    const asked = this.asked();
    const bad = what === "pick" && Number.isNaN(mass);
    this.#mass.setAttribute("aria-invalid", String(bad));
    if (!asked || bad) return null;
    const { at, pitch } = asked;
    return { do: what, at, ...(pitch === undefined ? {} : { pitch }), ...(what === "pick" ? { mass: mass / 1e3 } : {}) };
  }

  /** Dragged to there. @param {number[]} tip */
  drag(tip) {
    this.#edited = true;
    this.#write(tip);
    const asked = this.asked();
    if (asked) this.look(asked);
  }

  /** @param {() => void} leave */
  rest(leave) {
    this.#edited = false;
    leave();
  }

  /** The fields follow the arm until somebody writes into them. @param {import("./figures.js").Pose} pose */
  take({ tip }) {
    const there = tip.reference ?? tip.state;
    if (!there || this.#edited || this.#fields.includes(/** @type {HTMLInputElement} */ (document.activeElement))) return;
    this.#write(there);
    if (!this.target?.dragged) this.target?.put(there);
  }

  /** @param {number[]} tip */
  #write(tip) {
    tip.forEach((x, k) => {
      const text = fixed(1e3 * x, 1);
      if (this.#fields[k].value !== text) this.#fields[k].value = text;
    });
  }
}

/** What the validator says of a motion, for a person; null: nothing. @param {Check | null} check */
export function verdict(check) {
  const line = byId("verdict", HTMLElement);
  line.hidden = !check;
  if (!check) return;
  line.classList.toggle("refused", !check.possible);
  if (check.sent) return write(line, check.why ?? "");
  const margins = Object.entries(check.margins ?? {}).sort(([, a], [, b]) => a - b);
  const weakest = margins.length ? `, ${margins[0][0]} has ${(100 * margins[0][1]).toFixed(0)} % left` : "";
  const slowed = (check.slowed ?? 1) > 1.005 ? `, slowed ${check.slowed?.toFixed(2)} times to fit` : "";
  write(line, check.possible ? `may be made: ${check.duration_s?.toFixed(1)} s${slowed}${weakest}` : `would be refused: ${check.why}`);
}
