// Hold to move: as long as a button or key is held, a velocity is said again and again; let go, it is said that it is over.
import { byId, make, markMovers, write } from "./page.js";

const AGAIN_MS = 60;
const PITCH = 0.5;
const SHARE = { 0.1: 0.06, 0.5: 0.2, 1: 0.4 };
const SPEEDS = [[0.1, "10 mm/s"], [0.5, "50 mm/s"], [1, "100 mm/s"]];
const FULL_M_S = 0.1;

/** @typedef {{ linear?: number[], angular?: number[], pitch?: number, joint?: string, sign?: number }} Hold  velocities as shares */

/** @type {[string, string, string, Hold][]} */
const TIP = [
  ["x +", "Tip forwards", "ArrowUp", { linear: [1, 0, 0] }], ["x −", "Tip back", "ArrowDown", { linear: [-1, 0, 0] }],
  ["y +", "Tip to the left", "ArrowLeft", { linear: [0, 1, 0] }], ["y −", "Tip to the right", "ArrowRight", { linear: [0, -1, 0] }],
  ["z +", "Tip up", "PageUp", { linear: [0, 0, 1] }], ["z −", "Tip down", "PageDown", { linear: [0, 0, -1] }],
  ["hand ↑", "Hand up", "t", { pitch: 1 }], ["hand ↓", "Hand down", "g", { pitch: -1 }],
];

export class Jog {
  /** @type {Hold | null} */
  #held = null;
  #timer = 0;
  #busy = false;
  /** @type {HTMLElement | null} */
  #button = null;
  /** @type {import("./figures.js").Pose | null} */
  pose = null;

  /**
   * @param {(what: object) => Promise<import("./connection.js").Answer>} ask
   * @param {import("./arm.js").Moving[]} moving
   * @param {string} tool link in whose axes the tip moves, too
   */
  constructor(ask, moving, tool) {
    this.tool = tool;
    this.ask = ask;
    this.moving = moving;
    this.pad = byId("jog-pad", HTMLElement);
    this.speed = make("select", { "aria-label": "speed" }, ...SPEEDS.map(([value, text]) => make("option", { value: String(value) }, String(text))));
    this.speed.value = "0.5";
    this.space = make("select", { "aria-label": "what is moved" }, make("option", { value: "tip" }, "tip, base axes"), make("option", { value: "tool" }, "tip, tool axes"), make("option", { value: "joint" }, "joints"));
    this.space.addEventListener("change", () => this.#lay());
    this.#lay();
    byId("jog", HTMLElement).addEventListener("keydown", (event) => this.#key(event));
    addEventListener("keyup", () => this.release());
    for (const event of ["blur", "pagehide", "offline"]) addEventListener(event, () => this.release());
    document.addEventListener("visibilitychange", () => document.hidden && this.release());
  }

  /** Hold a velocity, in shares of the speed that is chosen; an equal one goes on. @param {Hold} hold @param {HTMLElement | null} button */
  hold(hold, button = null) {
    const begins = !this.#held;
    this.#held = hold;
    this.#button?.classList.remove("held");
    this.#button = button;
    button?.classList.add("held");
    if (!begins) return;
    this.#say();
    this.#timer = window.setInterval(() => this.#say(), AGAIN_MS);
  }

  /** Let go: said at once, whatever is still under way. */
  release() {
    if (!this.#held) return;
    this.#held = null;
    clearInterval(this.#timer);
    this.#button?.classList.remove("held");
    this.#button = null;
    this.ask({ do: "jog" });
  }

  async #say() {
    if (this.#busy || !this.#held) return;
    this.#busy = true;
    const { ok } = await this.ask({ do: "jog", ...this.#velocity(this.#held) });
    this.#busy = false;
    if (!ok) this.release();
  }

  /** @param {Hold} hold */
  #velocity({ linear, pitch, joint, sign = 1 }) {
    const share = Number(this.speed.value);
    const tool = this.space.value === "tool";
    if (joint) {
      const one = this.moving.find(({ name }) => name === joint);
      return { joints: { [joint]: sign * SHARE[/** @type {1} */ (share)] * (one?.velocity ?? 1) * 0.2 } };
    }
    const base = this.pose?.q.state?.[0] ?? 0;
    const turn = (pitch ?? 0) * PITCH * Math.max(share, 0.3);
    const angular = tool ? [0, -turn, 0] : [turn * Math.sin(base), -turn * Math.cos(base), 0];
    return { linear: (linear ?? [0, 0, 0]).map((x) => x * FULL_M_S * share), angular: pitch ? angular : [0, 0, 0], ...(tool ? { frame: this.tool } : {}) };
  }

  #lay() {
    this.release();
    const joints = this.space.value === "joint";
    /** @type {[string, string, string, Hold][]} */
    const keys = joints
      ? this.moving.flatMap(({ name }) => /** @type {[string, string, string, Hold][]} */ ([[`${name} −`, `${name} backwards`, "", { joint: name, sign: -1 }], [`${name} +`, `${name} forwards`, "", { joint: name, sign: 1 }]]))
      : TIP;
    const buttons = keys.map(([text, name, , hold]) => {
      const button = make("button", { type: "button", "aria-label": name }, text);
      button.addEventListener("pointerdown", (event) => {
        button.setPointerCapture(event.pointerId);
        this.hold(hold, button);
      });
      for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) button.addEventListener(end, () => this.release());
      button.addEventListener("contextmenu", (event) => event.preventDefault());
      button.addEventListener("keydown", (event) => event.key === "Enter" && !event.repeat && this.hold(hold, button));
      return button;
    });
    this.pad.replaceChildren(make("div", { class: "wide" }, this.space, this.speed), ...buttons);
    markMovers();
    write(byId("pad-note", HTMLElement), joints ? "Hold a button (or Enter on it); let go, and the arm decelerates." : "Hold a button, or here the arrow and page keys (T, G: hand). Let go, and the arm decelerates.");
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.target instanceof HTMLSelectElement || this.space.value === "joint") return;
    const found = TIP.find(([, , key]) => key === event.key);
    if (!found) return;
    event.preventDefault();
    if (!event.repeat) this.hold(found[3]);
  }
}
