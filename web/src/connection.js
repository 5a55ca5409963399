// What a tab has of the server: news as they come, whether they come, and requests.
import { readStream } from "./stream.js";

/** @typedef {import("./stream.js").News} News */
/** @typedef {{ ok: boolean, value: any }} Answer */

const LOST_MS = 800;
const LOOK_MS = 100;

export class Connection {
  /** @type {Map<string, ((value: any) => void)[]>} */
  #heard = new Map();
  /** Of what is told when it changes alone: for who asks to hear it later. @type {Map<string, any>} */
  #newest = new Map();
  #last = -Infinity;
  #alive = false;
  #browser = hex(8);
  #tab = hex(4);
  #server = "";
  /** What was told last: every request says it, so that an old one is refused. */
  #seen = new Seen();
  /** @type {MessagePort | null} */
  #port = null;

  /** @param {string} token */
  constructor(token) {
    this.token = token;
    this.why = "";
  }

  /** What this tab is called. */
  get page() {
    return `${this.#browser}.${this.#tab}`;
  }

  get alive() {
    return this.#alive;
  }

  /** @param {string} kind @param {(value: any) => void} act */
  on(kind, act) {
    this.#heard.set(kind, [...(this.#heard.get(kind) ?? []), act]);
    if (this.#newest.has(kind)) act(this.#newest.get(kind));
  }

  open() {
    if ("SharedWorker" in self) {
      const worker = new SharedWorker(`/worker.js?${fingerprint(this.token)}`, { type: "module", name: "picker view" });
      this.#port = worker.port;
      this.#port.addEventListener("message", ({ data }) => {
        this.#port?.postMessage({ kind: "taken" });
        for (const news of data) this.#take(news);
      });
      this.#port.start();
      this.#port.postMessage({ kind: "here", token: this.token });
    } else {
      readStream(this.token, this.#browser, (news) => this.#take(news));
    }
    setInterval(() => this.#look(), LOOK_MS);
    addEventListener("pagehide", () => {
      this.#port?.postMessage({ kind: "gone" });
      this.ask({ do: "leave" }, "/api/do", { keepalive: true });
    });
    addEventListener("pageshow", (event) => {
      if (event.persisted) this.#port?.postMessage({ kind: "here", token: this.token });
    });
  }

  /**
   * Ask for something; an answer that does not come is one, too.
   * @param {object} what
   * @param {string} path
   * @param {{ keepalive?: boolean, within?: number }} how  within: so many ms an answer is waited for
   * @returns {Promise<Answer>}
   */
  async ask(what, path = "/api/do", { keepalive = false, within } = {}) {
    try {
      const answer = await fetch(path, {
        method: "POST",
        headers: { ...this.#lines(), "X-Seen": this.#seen.now(performance.now()), "Content-Type": "application/json" },
        body: JSON.stringify(what),
        keepalive,
        ...(within ? { signal: AbortSignal.timeout(within) } : {}),
      });
      this.#seen.take(answer.headers.get("X-Seen"), performance.now());
      return { ok: answer.ok, value: await answer.json() };
    } catch {
      return { ok: false, value: { error: "the server does not answer" } };
    }
  }

  /** @param {string} path @param {AbortSignal} [signal] */
  async get(path, signal) {
    const answer = await fetch(path, { signal, headers: this.#lines() });
    this.#seen.take(answer.headers.get("X-Seen"), performance.now());
    if (!answer.ok) throw new Error((await answer.json()).error);
    return answer;
  }

  #lines() {
    return { Authorization: `Bearer ${this.token}`, "X-Page": this.page };
  }

  /** @param {News} news */
  #take({ kind, value }) {
    if (kind === "name") {
      this.#browser = value;
      return;
    }
    if (kind === "lost" || kind === "refused") {
      this.why = kind === "refused" ? value : this.why;
      this.#last = -Infinity;
      this.#look();
      return;
    }
    this.#last = performance.now();
    this.why = "";
    const restarted = kind === "hello" && this.#server && this.#server !== value.server;
    if (kind === "hello") this.#server = value.server;
    if (restarted) this.#seen = new Seen();
    if (kind === "pose") this.#seen.take(value.seen, this.#last);
    if (!this.#alive) this.#look();
    if (restarted) this.#tell("restarted", value);
    if (kind === "status" || kind === "tour") this.#newest.set(kind, value);
    this.#tell(kind, value);
  }

  #look() {
    const alive = performance.now() - this.#last < LOST_MS;
    if (alive !== this.#alive || (!alive && this.why)) {
      this.#alive = alive;
      this.#tell("alive", alive);
    }
  }

  /** @param {string} kind @param {any} value */
  #tell(kind, value) {
    for (const act of this.#heard.get(kind) ?? []) act(value);
  }
}

const KEPT = 20;

/**
 * What was told of the arm: the newest epoch, and the server's time as far as it is known here.
 *
 * A page that is slow takes news late: the server's clock is ahead of ours by at least the most that any of the last ones says.
 */
export class Seen {
  #epoch = "";
  #told = -Infinity;
  /** @type {number[]} */
  #ahead = [];

  /**
   * @param {string | null | undefined} seen  an epoch and a time [s], the newest of which counts: answers may come late
   * @param {number} ms  our time
   */
  take(seen, ms) {
    const [epoch, time] = (seen ?? "").split(" ");
    if (!(Number(time) > this.#told)) return;
    [this.#epoch, this.#told] = [epoch, Number(time)];
    this.#ahead = [...this.#ahead, this.#told - ms / 1e3].slice(-KEPT);
  }

  /** The epoch, and the server's time [s]; nothing where it has told none. @param {number} ms our time */
  now(ms) {
    return this.#epoch && `${this.#epoch} ${(ms / 1e3 + Math.max(...this.#ahead)).toFixed(3)}`;
  }
}

/** @param {number} bytes */
function hex(bytes) {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A worker of another start of the server is another worker; the token itself stays out of addresses. @param {string} token */
function fingerprint(token) {
  let sum = 5381;
  for (const letter of token) sum = (sum * 33 + letter.charCodeAt(0)) >>> 0;
  return sum.toString(36);
}
