// A gamepad: with a shoulder button held, the sticks move the tip; B stops.  Gone or let go, the arm decelerates.

const DEAD = 0.18;
const SHOULDERS = [4, 5];
const STOP_BUTTON = 1;
const LOOK_MS = 40;

/** @param {number} x */
const live = (x) => (Math.abs(x) < DEAD ? 0 : (x - Math.sign(x) * DEAD) / (1 - DEAD));

/**
 * What a pad asks for: null, where its shoulder buttons are not held.
 * @param {{ axes: readonly number[], buttons: readonly { pressed: boolean }[] }} pad
 * @returns {import("./jog.js").Hold | null}
 */
export function asked({ axes, buttons }) {
  if (!SHOULDERS.some((number) => buttons[number]?.pressed)) return null;
  const [left, up, turn, high] = axes.map(live);
  const linear = [-up, -left, -high].map((x) => x || 0);
  if (linear.some(Boolean)) return { linear };
  return turn ? { pitch: turn } : { linear: [0, 0, 0] };
}

/** @param {import("./jog.js").Jog} jog @param {() => void} stop @param {(text: string) => void} say */
export function installGamepad(jog, stop, say) {
  let timer = 0;
  let held = false;
  let stopping = false;
  const look = () => {
    const pad = navigator.getGamepads().find((one) => one?.connected);
    const hold = pad && !document.hidden && document.hasFocus() ? asked(pad) : null;
    const pressed = Boolean(pad?.buttons[STOP_BUTTON]?.pressed);
    if (pressed && !stopping) stop();
    stopping = pressed;
    if (hold) jog.hold(hold);
    else if (held) jog.release();
    held = Boolean(hold);
    if (!pad) {
      clearInterval(timer);
      timer = 0;
    }
  };
  addEventListener("gamepadconnected", ({ gamepad }) => {
    say(`${gamepad.id}: hold a shoulder button and move the sticks; B stops`);
    timer ||= window.setInterval(look, LOOK_MS);
  });
  addEventListener("gamepaddisconnected", () => {
    held = false;
    jog.release();
  });
}
