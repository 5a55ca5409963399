// The time line of a recording: play, pause, and any place in it.
import { byId, write } from "./page.js";
import { choose } from "./tabs.js";

const HELD_MS = 400;

/** @param {import("./connection.js").Connection} connection @param {(what: object) => void} ask */
export function installPlayer(connection, ask) {
  const box = byId("player", HTMLElement);
  const button = byId("play", HTMLButtonElement);
  const line = byId("at", HTMLInputElement);
  const rate = byId("rate", HTMLSelectElement);
  const text = byId("at-text", HTMLElement);
  let plays = true;
  let held = 0;

  const say = (/** @type {boolean} */ on, /** @type {number | null} */ at_s = null) =>
    ask({ do: "play", on, rate: Number(rate.value), ...(at_s === null ? {} : { at_s }) });
  button.addEventListener("click", () => say(!plays));
  rate.addEventListener("change", () => say(plays));
  line.addEventListener("input", () => {
    held = performance.now();
    say(false, Number(line.value));
  });
  connection.on("play", (told) => {
    if (box.hidden) choose(byId("tab-joints", HTMLButtonElement));
    box.hidden = false;
    document.body.classList.add("recorded");
    plays = told.plays;
    write(button, plays ? "Pause" : "Play");
    line.max = String(told.length_s);
    if (performance.now() - held > HELD_MS) line.value = String(told.at_s);
    write(text, `${told.at_s.toFixed(1)} / ${told.length_s.toFixed(1)} s`);
  });
}
