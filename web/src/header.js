// The first line: how the arm is, who drives it, what it carries; and what to do where it is not enabled.
import { byId, make, markMovers, write } from "./page.js";
import { loop } from "./units.js";

/** @typedef {any} Status  as scripting/view/arm_view.py tells it */

const STATES = { active: "good", enabling: "warn", idle: "warn", offline: "bad" };

export class Header {
  /** @param {import("./connection.js").Connection} connection @param {(what: object) => void} ask */
  constructor(connection, ask) {
    this.connection = connection;
    this.drive = byId("drive", HTMLButtonElement);
    this.drive.addEventListener("click", () => {
      const mine = this.drive.dataset.mine === "yes";
      ask(mine ? { do: "leave" } : { do: "drive", over: this.drive.dataset.over === "yes" });
    });
    const sure = byId("sure", HTMLInputElement);
    const accept = byId("accept", HTMLInputElement);
    byId("reset", HTMLButtonElement).addEventListener("click", () => ask({ do: "reset" }));
    byId("enable", HTMLButtonElement).addEventListener("click", () => {
      ask({ do: "enable", sure: sure.checked, accept: accept.checked });
      sure.checked = accept.checked = false;
      this.#again();
    });
    for (const box of [sure, accept]) box.addEventListener("change", () => this.#again());
    /** @type {Status} */
    this.status = {};
  }

  /** @param {Status} status */
  take(status) {
    this.status = status;
    const [text, kind] = condition(status);
    write(byId("hardware", HTMLElement), text);
    byId("hardware", HTMLElement).className = `chip ${kind}`;
    write(byId("phase", HTMLElement), status.controller.phase);
    write(byId("mover", HTMLElement), status.moved_by && status.driver !== this.connection.page ? `moved by ${mover(status.moved_by)}` : "");
    const told = facts(status);
    const list = byId("facts", HTMLElement);
    if (list.innerText !== told.join("\n")) list.replaceChildren(...told.map((/** @type {string} */ fact) => make("li", {}, fact)));
    this.#driver(status);
    markMovers(status.hardware.state !== "active" || this.watching);
    this.#again();
  }

  /** Whether this page may ask for motions. */
  get watching() {
    return Boolean(this.status.driver) && this.status.driver !== this.connection.page;
  }

  /** @param {Status} status */
  #driver({ driver }) {
    const mine = driver === this.connection.page;
    this.drive.dataset.mine = mine ? "yes" : "no";
    this.drive.dataset.over = driver && !mine ? "yes" : "no";
    write(this.drive, mine ? "You have control – release" : driver ? "Another page has control – take over" : "Drive");
    this.drive.setAttribute("aria-pressed", String(mine));
    document.body.classList.toggle("watching", Boolean(driver) && !mine);
  }

  #again() {
    const { hardware, reset_needed, stop_latched, accept_needed, outputs, next } = this.status;
    const reset = reset_needed === "true" || stop_latched === "true";
    const enable = hardware?.state === "idle";
    byId("again", HTMLElement).hidden = !(reset || enable);
    write(byId("again-title", HTMLElement), stop_latched === "true" ? "Stopped: the arm holds" : "Not enabled");
    write(byId("again-why", HTMLElement), `${hardware?.message ?? ""} – next: ${next ?? ""}`);
    const runs = outputs === "running";
    const sure = byId("sure", HTMLInputElement);
    const other = accept_needed === "true";
    byId("sure-line", HTMLElement).hidden = runs;
    byId("accept-line", HTMLElement).hidden = !other;
    byId("reset", HTMLButtonElement).disabled = !reset;
    byId("enable", HTMLButtonElement).disabled = reset || !(runs || sure.checked) || (other && !byId("accept", HTMLInputElement).checked);
    write(byId("enable-what", HTMLElement), runs ? "takes over running outputs; nothing jumps" : "switches outputs on, one joint at a time");
  }
}

/**
 * How the hardware is, in words and as a kind of chip; an arm that is active and has something to say is not simply well.
 * @param {Status} status
 * @returns {[string, string]}
 */
export function condition({ stop_latched, faults, hardware: { state, message } }) {
  if (stop_latched === "true") return ["STOPPED", "bad"];
  if (state === "active" && faults.length) return [`${message}, ${faults.length} ${faults.length > 1 ? "warnings" : "warning"}`, "warn"];
  if (state === "active" && message !== state) return [message, "warn"];
  return [message, STATES[/** @type {"idle"} */ (state)] ?? ""];
}

/** Who moves the arm, without numbers that mean nothing to a person. @param {string} lease */
const mover = (lease) => lease.replace(/\b(driver [\w-]+)\.\d+\.\d+/g, "$1").replace(/\bgoal \S+/g, "a goal");

/** @param {Status} status */
function facts(status) {
  const said = status.faults.map((/** @type {string} */ fault) => `⚠ ${fault}`);
  if (status.faults.length && status.next) said.push(`next: ${status.next}`);
  if (typeof status.payload_kg === "number") said.push(`payload ${(1e3 * status.payload_kg).toFixed(0)} g`);
  if (status.compensation) said.push(`compensation ${status.compensation}`);
  if (status.supply_v) said.push(`supply ${status.supply_v.toFixed(1)} V`);
  if (typeof status.supply_a === "number") said.push(`${status.supply_a.toFixed(1)} A (estimated)`);
  if (status.limits?.tip_speed_limit) said.push(`tip at most ${(1e3 * status.limits.tip_speed_limit).toFixed(0)} mm/s`);
  said.push(...loop(status.parts?.["hardware: timing"] ?? {}));
  const answers = Number(status.parts?.["hardware: link"]?.round_trip_p99_ms);
  if (answers) said.push(`board answers within ${answers.toFixed(1)} ms`);
  return said;
}
