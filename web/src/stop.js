// The stop: always there, by a button, Escape and Space, wherever the focus is; and honest about when it is dead.
import { byId, write } from "./page.js";

const SHOWN_MS = 1500;
const TRIES = 3;
const CONFIRMED_MS = 1000;

/**
 * @param {import("./connection.js").Connection} connection
 * @param {() => void} letGo of whatever is held
 */
export function installStop(connection, letGo) {
  const button = byId("stop", HTMLButtonElement);
  const alarm = byId("alarm", HTMLElement);
  const [word, keys] = [button.children[0], button.children[1]];

  let confirmed = true;
  let newest = 0;

  const stop = async () => {
    const number = ++newest;
    letGo();
    button.classList.add("sent");
    for (let tries = 0; tries < TRIES; tries++) {
      const { ok, value } = await connection.ask({}, "/api/stop", { within: CONFIRMED_MS });
      if (!ok && number !== newest) return; // a newer press says what came of it
      confirmed = ok;
      show();
      say(ok ? "" : `The stop is not confirmed: ${value.error}. Use the switch in the servo supply.`);
      if (ok) break;
    }
    setTimeout(() => button.classList.remove("sent"), SHOWN_MS);
  };
  const show = () => {
    const [text, under] = label(connection.alive, confirmed);
    button.classList.toggle("dead", text !== "STOP");
    write(word, text);
    write(keys, under);
  };
  const say = (/** @type {string} */ text) => {
    write(alarm, text);
    alarm.hidden = !text;
  };
  button.addEventListener("pointerdown", stop);
  button.addEventListener("click", (event) => {
    if (event.detail === 0) stop(); // by a key, or an assistive technology: no pointer came before
  });
  addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Escape" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      if (!event.repeat) stop();
    },
    { capture: true },
  );
  addEventListener("keyup", (event) => event.key === " " && event.preventDefault(), { capture: true });

  connection.on("alive", (alive) => {
    show();
    say(alive ? "" : `No connection: this stop button is dead. Use the switch in the servo supply. ${connection.why}`);
  });
  connection.on("status", ({ stop_latched }) => {
    if (stop_latched !== "true" || confirmed) return;
    confirmed = true; // its answer was lost
    show();
    say("");
  });
  connection.on("restarted", () => say("The server was started anew: reload this page."));
  return stop;
}

/** What the button says, and beneath. @param {boolean} alive @param {boolean} confirmed the stop that was asked for last */
export function label(alive, confirmed) {
  if (!alive) return ["DEAD", "no connection"];
  return confirmed ? ["STOP", "Esc or Space"] : ["NOT STOPPED?", "not confirmed: press again"];
}
