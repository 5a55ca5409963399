// One stream for all tabs of a browser: it allows six connections to a server, and a stop must not wait for a seventh.
import { Outlet, SAID } from "./outlet.js";
import { readStream } from "./stream.js";

/** @typedef {import("./stream.js").News} News */

const name = hex(8);
const KEPT = ["hello", "status", "pose", "play", "tour"];

/** @type {Map<MessagePort, Outlet>} */
const tabs = new Map();
/** @type {Map<string, News>} */
const newest = new Map();
/** @type {News[]} */
const said = [];
let token = "";
let server = "";

/** @param {News} news */
function tell(news) {
  if (news.kind === "hello" && news.value.server !== server) {
    server = news.value.server;
    said.length = 0; // it numbers its words anew
  }
  if (KEPT.includes(news.kind)) newest.set(news.kind, news);
  if (news.kind === "said") {
    if (said.some((one) => one.value.id === news.value.id)) return;
    said.push(news);
    said.splice(0, said.length - SAID);
  }
  if (news.kind === "lost") newest.clear();
  for (const tab of tabs.values()) tab.tell(news);
}

/** @param {number} bytes */
function hex(bytes) {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

self.addEventListener("connect", (event) => {
  const [port] = /** @type {MessageEvent} */ (event).ports;
  port.addEventListener("message", ({ data }) => {
    if (data.kind === "gone") {
      tabs.delete(port);
      return;
    }
    if (data.kind === "taken") {
      tabs.get(port)?.taken();
      return;
    }
    const tab = new Outlet((news) => port.postMessage(news));
    tabs.set(port, tab);
    for (const news of [{ kind: "name", value: name }, ...newest.values(), ...said]) tab.tell(news);
    if (!token) {
      token = data.token;
      readStream(token, name, tell);
    }
  });
  port.start();
});
