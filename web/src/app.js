// The page of picker view: what the server tells is shown, what a person asks is sent; all of it begins here.
import { Vector3, Box3 } from "three";
import { Connection } from "./connection.js";
import { Curves } from "./curves.js";
import { Figures } from "./figures.js";
import { installGamepad } from "./gamepad.js";
import { Header } from "./header.js";
import { Jog } from "./jog.js";
import { Joints } from "./joints.js";
import { installLegend, Readout } from "./legend.js";
import { meshLoader } from "./meshes.js";
import { byId, colour, write } from "./page.js";
import { installPlayer } from "./player.js";
import { Target } from "./scenery.js";
import { Settings } from "./settings.js";
import { Stage } from "./stage.js";
import { installStop } from "./stop.js";
import { installTabs } from "./tabs.js";
import { TipPanel, verdict } from "./tip.js";
import { Tours } from "./tours.js";
import { Words } from "./words.js";

const RED_MS = 6000;

const token = decodeURIComponent(location.hash.slice(1));
const connection = new Connection(token);
const words = new Words();
/** @type {Jog | null} */
let jog = null;
const stop = installStop(connection, () => jog?.release());
const header = new Header(connection, (what) => ask(what));
const readout = new Readout();
installTabs();
const stage = makeStage();

/** Ask, and say what is refused. @param {object} what */
async function ask(what) {
  const answer = await connection.ask(what);
  if (!answer.ok && (!answer.value.kind || answer.value.subject === "page")) words.tell(answer.value.error); // all others are told to all pages
  return answer;
}

function makeStage() {
  try {
    return new Stage(byId("canvas", HTMLCanvasElement));
  } catch {
    words.tell("no WebGL in this browser: the arm is not drawn, all else works");
    return null;
  }
}

async function begin() {
  connection.open();
  const answer = await connection.get("/api/arm").catch((error) => {
    words.tell(error.message);
    return null;
  });
  if (!answer) return;
  /** @type {import("./arm.js").Picture} */
  const picture = await answer.json();
  write(byId("name", HTMLElement), picture.name);
  document.title = `${picture.name} – picker view`;
  if (picture.missing.length) words.tell(`not drawn, as there is no file: ${picture.missing.join(", ")}`, "warn");
  show(picture);
}

/** @param {import("./arm.js").Picture} picture */
function show(picture) {
  const names = picture.moving.map((joint) => joint.name);
  const figures = stage && new Figures(stage, picture, meshLoader(connection, (text) => words.tell(text, "warn")));
  const curves = new Curves(picture.moving);
  const settings = new Settings(ask);
  const joints = new Joints(picture.moving, (to) => (to ? look({ do: "joints", to }) : leave()), (to) => send({ do: "joints", to }));
  const tip = new TipPanel(look, send, leave);
  if (stage) tip.target = new Target(stage, (place) => tip.drag(place));
  byId("picking", HTMLElement).hidden = !picture.gripper;
  const tours = new Tours(connection, send, ask);
  jog = new Jog(ask, picture.moving, picture.tool);
  installGamepad(jog, stop, (text) => words.tell(text, "ok"));
  installLegend((what, on) => {
    figures?.want(what, on);
    if (what === "region" && on) showRegion();
  });
  let complete = false;
  let fitted = false;
  figures?.state.complete.then(() => (complete = true));
  stage?.controls.addEventListener("start", () => (fitted = true));
  let payload = -1;
  let red = 0;

  /** Look ahead: the newest question counts, and one is on its way at a time. */
  let asking = false;
  /** @type {object | null} */
  let next = null;
  /** @param {object | null} what */
  async function look(what) {
    next = what;
    if (what) clearTimeout(red);
    if (asking || !what) return;
    asking = true;
    while (next) {
      const question = /** @type {{ at?: number[] }} */ (next);
      next = null;
      const { ok, value } = await connection.ask(question, "/api/check");
      if (next || !looking) continue;
      const check = ok ? value : { possible: false, q: null, why: value.error, subject: value.subject };
      figures?.show(check, question.at);
      verdict(check);
      mark(check.possible ? "" : check.subject);
    }
    asking = false;
  }
  let looking = true;
  function leave() {
    next = null;
    figures?.show(null);
    verdict(null);
    mark("");
  }
  /** @param {object} what */
  async function send(what) {
    looking = false;
    figures?.begin();
    const { ok, value } = await ask(what);
    looking = true;
    leave();
    if (!ok) refuse(value.error, value.subject);
    return ok;
  }
  /** @param {string | undefined} name */
  function mark(name) {
    joints.mark(name ?? "");
    figures?.state.highlight(name ?? "", colour("--stop"));
    stage?.draw();
  }
  /** @param {string} why @param {string} subject */
  function refuse(why, subject) {
    verdict({ possible: false, q: null, why, sent: true });
    mark(names.includes(subject) ? subject : "");
    clearTimeout(red);
    red = window.setTimeout(leave, RED_MS);
  }
  async function showRegion() {
    const region = await connection.get("/api/region").then((answer) => answer.json(), (error) => words.tell(error.message));
    figures?.region.show(region ?? { cells: [] });
    stage?.draw();
  }

  for (const what of ["home", "park", "cancel"]) byId(what, HTMLButtonElement).addEventListener("click", () => send({ do: what }));
  for (const open of [true, false]) byId(open ? "open" : "close", HTMLButtonElement).addEventListener("click", () => send({ do: "grip", open }));
  const guide = byId("guide", HTMLButtonElement);
  guide.addEventListener("click", () => send({ do: guide.ariaPressed === "true" ? "cancel" : "guide" }));
  for (const button of document.querySelectorAll("#views button")) button.addEventListener("click", () => fit(/** @type {HTMLElement} */ (button).dataset.from));
  function fit(from = "") {
    if (!stage || !figures) return;
    const box = new Box3().setFromObject(figures.state);
    box.expandByPoint(new Vector3(0, 0, 0)).expandByScalar(0.03);
    stage.look(box, from ? new Vector3(...from.split(" ").map(Number)) : undefined);
  }

  connection.on("pose", (pose) => {
    if (document.hidden) return;
    if (jog) jog.pose = pose;
    figures?.take(pose);
    if (!fitted && complete && pose.q.state) {
      fitted = true;
      fit();
    }
    readout.take(pose);
    joints.take(pose);
    tip.take(pose);
    curves.take(pose);
  });
  connection.on("status", (status) => {
    readout.provenance = status.provenance ?? "";
    settings.take(status);
    tours.take(status);
    joints.warm(status);
    guide.hidden = typeof status.guided !== "boolean";
    guide.setAttribute("aria-pressed", String(Boolean(status.guided)));
    write(guide, status.guided ? "End guiding" : "Guide by hand");
    if (figures?.surroundings.show(status.scene ?? [])) stage?.draw();
    if (status.payload_kg !== payload && figures?.wanted.region) showRegion();
    payload = status.payload_kg;
  });
  connection.on("said", (said) => {
    if (said.outcome === "accepted") figures?.begin();
    if (said.outcome === "refused" && Date.now() / 1e3 - said.time < 2) refuse(said.text, said.joint);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    stage?.theme();
    figures?.theme();
    curves.theme();
  });
}

installPlayer(connection, ask);
connection.on("status", (status) => header.take(status));
connection.on("said", (said) => words.say(said));
connection.on("alive", (alive) => {
  document.body.classList.toggle("lost", !alive);
  if (!alive) {
    jog?.release();
    readout.lose();
  }
});
if (!token) words.tell("this address has no token: open the one that the server prints");
// For who looks from outside: tests, and a person at the console.
Object.assign(window, { picker: { connection, stage } });
begin();
