// The stop: always there, by a button, Escape and Space, wherever the focus is; and honest about when it is dead.
import { byId, write } from "./page.js";

const SHOWN_MS = 1500;
const TRIES = 3;

/**
 * @param {import("./connection.js").Connection} connection
 * @param {() => void} letGo of whatever is held
 */
export function installStop(connection, letGo) {
  const button = byId("stop", HTMLButtonElement);
  const alarm = byId("alarm", HTMLElement);
  const [word, keys] = [button.children[0], button.children[1]];

  const stop = async () => {
    letGo();
    button.classList.add("sent");
    let { ok, value } = await connection.ask({}, "/api/stop");
    for (let again = 1; !ok && again < TRIES; again++) ({ ok, value } = await connection.ask({}, "/api/stop"));
    if (!ok) say(`The stop was not answered: ${value.error}. Use the switch in the servo supply.`);
    setTimeout(() => button.classList.remove("sent"), SHOWN_MS);
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
    button.classList.toggle("dead", !alive);
    write(word, alive ? "STOP" : "DEAD");
    write(keys, alive ? "Esc or Space" : "no connection");
    say(alive ? "" : `No connection: this stop button is dead. Use the switch in the servo supply. ${connection.why}`);
  });
  connection.on("restarted", () => say("The server was started anew: reload this page."));
  return stop;
}
