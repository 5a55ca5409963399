// What one tab is told: as fast as it takes it.  To one that sleeps nothing is sent; when it wakes it gets the newest of each kind
// and the last words, not an hour of them.

/** @typedef {import("./stream.js").News} News */

/** Words that are kept for who takes them later. */
export const SAID = 50;

export class Outlet {
  #waits = false;
  /** In the order in which they were told last. @type {Map<string, News>} */
  #newest = new Map();
  /** @type {News[]} */
  #said = [];

  /** @param {(news: News[]) => void} send */
  constructor(send) {
    this.send = send;
  }

  /** @param {News} news */
  tell(news) {
    if (news.kind === "said") {
      this.#said.push(news);
      this.#said.splice(0, this.#said.length - SAID);
    } else {
      this.#newest.delete(news.kind);
      this.#newest.set(news.kind, news);
    }
    this.#flush();
  }

  /** The tab has taken what was sent. */
  taken() {
    this.#waits = false;
    this.#flush();
  }

  #flush() {
    if (this.#waits || !(this.#newest.size || this.#said.length)) return;
    this.#waits = true;
    this.send([...this.#newest.values(), ...this.#said.splice(0)]);
    this.#newest.clear();
  }
}
